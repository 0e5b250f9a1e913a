"""The directions of recall cards. `python -m infra.recall_cards` writes this file.

Each has the scale of its numbers, and the numbers as signed bytes in base 64.
"""

DIRECTIONS = {
    "builtin:use-multilingual-3+potion-base-8m:768:1.70": (
        6.8793e-04,
        "txAMKxodB+/gCPsWLyNB/v3yAAcVzAsPPODy/PiwFQwf+vtf4gMIIBQG/vEB7DTo9f0OIfoN/zED//n0Cenv4gYN"
        "6QoK8hcnCOIXFtcA7+8P/xo5Fhzu+9/1wRoi9hP0BmQAH/EX2w8c5vvu6BMN+PbzFwkoDhn88hgT4xEhFO3sCxAF"
        "uh4DMwDfV9sWCAYKU//EGQLzIiH+BRT0IP7oDRD06gH8IggCABAdAgL/+hX3+wlkFt8NGB7i/BYL7e7y/vcD+vwV"
        "//D67fwB7vT/+A8Q+g8rEwkEDeHpDg8iAvfqByv48On57dnjAOUOPhXfEPnS7OoZxwYDIfro3xH7Aefx7zccAADy"
        "IPT03AH06xMZAgAK5RbK8e0gEAsXA/EH/hDx7ej/HssT/ff1AuoYGQwB2jLmDBT53e74NvDfFff59h4M9gEGGhji"
        "6f86/ekfzgh/6OkC+O4N7wv3COXt9fT5Bw0JBQv3CgXy8//05QgN8QU8BwD1BAX1Nfb4/v8MB+UGEvT5/uj9HhXH"
        "I/j+2v4J6/v3Hdgb8Qku7+gJ5vb87wgCDOT3DdnPNSMY7OoM+wTr9eUPW/Uo+QUM3/ME8/IFCxkz9Rv5BfXaFBn0"
        "CwFEM/X06A0aNw8GIBDqBPb7+JvmCv3m/174/wDv6vsT2Qv3BgwA8OTcttEAAQny7zvqEQwWARMB/vz+AxECBg4J"
        "DQX//QoN+vcDDv8C9BD5CvX6/gcN+PYE/f759gEB+/8EAfj//wf6CP37Cf/t+gYE8fH3+fQOC/z1CQP7//oIAvsL"
        "+f8DCv74Bfz//g776ggE+fz8AgYQC/r/A/f+BwD1+gr7AAEGAf//+v0K8AMG/Pz+/gQK+QL++wMC+wn+/QQHBAb5"
        "B/gAEAcBAQUJ+gIKAgz//AD6/wL/+gL+/hAFBQT9+QYCCgP0Af/++gX+8QIBBAYG+fcD//0C/gkC+gkK/QECB/f6"
        "/gQCBvv5//8E/QH7BfX5BAb+Bvv/A/8BAPkDCgcB+gMCBQECAwD9AgAD",
    ),
    "builtin:use-multilingual-3+arctic-embed-s:896:1.30": (
        5.9579e-04,
        "thAKLBwcBu/hCPcXKiVF/vv0AQkYywoQNuLv/fazFg4hAPph5AMFIBYHAO8E7TLn9/0QIPoM/jb/AvnyCOjs5AkP"
        "7QYL8RUmC+EYFtgB8OQaABs2Fhvv+eD2wx0l9RHxCmH8HfAY2xEa5/j05xYM9vr2FwonDxr88RgW5REjFOzqDRAF"
        "tyAEMgDfVtcVBggMUfzGGQXzIyP7BBTzIPzoDhTy7AP6Gwr+/xEeAQEA/BP5+whiFd4OGR7h/BIN7+33/vkE+/4X"
        "/O757foE8PP/+BMQ+hAuEwgFDd3uDg0kBPboByv38On579rkAOYNPxjeEfvS7ukXzAkEJPjl3xL6AOjy7zYdAP/y"
        "IPf24AHz6hIZAwAJ4hnG8u0iEgsXAfcJ/RPu7ugCGs0R/PjyAecaGg0B2C3oDhT43e33MfLfGPX48yEO9QYFGRPq"
        "6/9B+ugezgt/5esC+OsM7Qr4Bujv9fX4BQsMAgr3BwXz9QDy5g0O8QZABgL0Agr3NvX4//8OB+QGE/X4/eX9IBfK"
        "J/P/2vwI7Pn4Hdcd8Aox7OcN5PT/7gkDCuH5Dt7NNSYS7eoM+wrt9ukQXPUr+QUM3/QC8PEFCxg19Rr4B/bcFRf0"
        "CQFGM/Xx6RAaOhEGGg/oBPP8+ZjnC//n/lv5/wHs6foS2gv2BgsA7+rcuNH/Awj27TYB+fwDCPz9/wD/+vkDCvL9"
        "/QoL8BH19/37+QP3AgIF6w789f8G/vgE/gTr+wb3/QEBBgQI+/0OA/8CBQEC9wUF/QYM/QH+//39/wQB/wIADPcA"
        "DAABA/4J+wD8Cwf0CPb+9AAJDvb9+wD+APcEB//8//oKAPwHB/YCAfv/APsC/fkABQAE/Qn3+Ab+C/QLAwIF/wUG"
        "AgP/+gIKCfYCB/v/9wAB////AfsAAfT+AQH8Afb0APvy+wDw+wH8CPwHAQH99v/2BAsH/PwG/A8DAP0LAgUGBf//"
        "DRAB8A38+wH45vcECvsFDgAD//cIA/MHBggC8/oM/QH8Bf4I9/0F+QH4BQD7/gr6APYAAwHwAwr9AP/+AgkEB/v+"
        "+QIDAw0I9/oACPT4AvQBBQcEC/7+BQgQCOsHBQL9/QcF8/r+BAH6+gL8+AHtAAMDCQAUBAUE/AT6/wACBgMG/vsB"
        "AQMF/PMO/AUB/QT6AQcSBQX6BeoEAPsBCvv/AfL8BP4J9/wDB/U=",
    ),
    "builtin:potion-base-8m:256:1": (
        4.0625e-04,
        "gU4mZSw5HcftrO80GfvtL/4lCD09LQPsyV/09MkkFEDl7hA9POD/9gDi3bbhFOrmEeMH0/YHBxHr8Socuvnz77e6"
        "rPPeFkkO3gof6hy/IBj2KQT1J0wM89vj6/sv7bsPKwIh2hYOQvXaEjPd1T0C4+4l6OsDCtb8OtXyIc3pLOvr2QMe"
        "He4G8d/g/Ngf4vYhFBgb6SnZKTUfBB4IEgb4IyEb69/u4P4M69H77wQ0/wkH/dgbCR0J1QoEB/YV6L8KDvkiH9vL"
        "D/b/Av0u/PEsHfj/BA7b3/YQI/7z7Pv1+gPyAizI8f8OChbx9gvu7//wChUSGO4CCAkODgIB+A7zDQ==",
    ),
    "builtin:potion-multilingual-128m:128:1": (
        4.1671e-04,
        "qCrL7gvB4EsoQQToE/0ls90KA6kf0gZFOON/Ppzj9s0xsvP2J/BHEgoN1hs39wbU2/Uzccvtjebf3MEaNCdJDtfB"
        "SXTztynaFwqqVAQ6sRL8GgYZFQSy8/Hox/v4TBT97uf+AeEFLd3r+xUs0SP2yvwhS0XzER/YAe0DUBbeARE=",
    ),
}
