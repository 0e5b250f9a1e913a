"""Chinese words of time, simplified and traditional."""

CHINESE = """
    plain: 的, 了, 我, 在, 是, 什么, 什麼, 谁, 誰, 哪里, 哪裡, 们, 們, 吗, 嗎, 和, 这, 那, 怎么
    empty: 发生, 發生, 做, 事, 事情, 什么, 什麼, 告诉, 列出, 所有, 有, 过, 過, 做了, 干, 都, 些, 麼
    empty: 么, 什
    day -3: 大前天
    day -2: 前天, 前日
    day -1: 昨天, 昨日, 昨晚, 昨夜
    day 0: 今天, 今日, 今晚, 今早, 今晨
    day 1: 明天, 明日, 明晚, 明早
    day 3: 大后天, 大後天
    day 2: 后天, 後天
    period year -1: 去年, 上年
    period year 0: 今年, 本年
    period year 1: 明年
    period year -2: 前年
    period year 2: 后年, 後年
    period month 0: 本月, 当月
    period week 0: 本周, 本週
    rel_week -1: 上, 上个, 上個, 上一个, 上一個, 上一
    rel_week -2: 上上, 上上个, 上上個
    rel_week 0: 这, 這, 这个, 這個, 本, 这一, 這一
    rel_week 1: 下, 下个, 下個, 下一个, 下一個
    rel_week 2: 下下, 下下个, 下下個
    rel -1: 过去, 過去, 最近, 近, 最近的, 过去的, 過去的
    recent: 这, 這, 前
    rel 1: 未来, 未來, 接下来, 接下來
    unit minute: 分钟, 分鐘
    unit hour: 小时, 小時, 个小时, 個小時, 钟头
    unit day: 天, 日
    unit week: 周, 週, 星期, 个星期, 個星期, 礼拜, 禮拜, 个礼拜, 個禮拜
    unit month: 个月, 個月
    unit quarter: 季度, 个季度, 個季度
    unit year: 年
    weekend: 周末, 週末
    weekday 0: 周一, 週一, 星期一, 礼拜一, 禮拜一
    weekday 1: 周二, 週二, 星期二, 礼拜二, 禮拜二
    weekday 2: 周三, 週三, 星期三, 礼拜三, 禮拜三
    weekday 3: 周四, 週四, 星期四, 礼拜四, 禮拜四
    weekday 4: 周五, 週五, 星期五, 礼拜五, 禮拜五
    weekday 5: 周六, 週六, 星期六, 礼拜六, 禮拜六
    weekday 6: 周日, 週日, 星期日, 星期天, 礼拜天, 禮拜天, 周天
    season spring: 春天, 春季
    season summer: 夏天, 夏季
    season autumn: 秋天, 秋季
    season winter: 冬天, 冬季
    number 2-5: 几, 幾, 数, 數
    number 2: 两, 兩
    year_mark: 年
    month_mark: 月, 月份
    day_mark: 日, 号, 號
    ago: 前, 以前, 之前
    later: 后, 後, 以后, 以後, 之后, 之後
    since: 自, 自从, 自從
    from: 从, 從, 自
    since_last: 以来, 以來, 起, 开始, 開始, 至今
    before_last: 之前, 以前
    until_last: 为止, 為止
    until: 到, 直到, 截至
    after_last: 之后, 之後, 以后, 以後
    to: 到, 至, 和, 与, 與
    to_last: 之间, 之間, 期间, 期間
    between: 在
    on: 在, 于
    on_last: 的
    of: 的
    part_last early: 初, 上旬
    part_last middle: 中旬, 中
    part_last late: 底, 下旬, 末
    part_of_day: 早上, 上午, 下午, 晚上, 中午, 夜里
    nothing: 五月天, 年轻, 年輕, 前女友, 前男友, 天气, 天氣, 后天性, 一天到晚, 星期天堂, 年纪, 年紀
    nothing: 年代, 立春, 立夏, 立秋, 立冬, 春分, 秋分
    nothing: 日本, 前任, 前妻, 前夫, 上海, 下午茶, 天空, 天使, 今日头条, 明日之星, 明天会更好
"""
