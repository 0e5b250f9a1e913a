"""Japanese words of time."""

JAPANESE = """
    plain: の, に, は, を, が, で, と, も, か, した, です, ます, どこ, 誰, 何, いつ, なに, ました
    empty: 何, しました, あった, ありました, こと, 出来事, 教えて, 起きた, 起こった, ください
    empty: やった
    empty: 全部, ましたか, 思い出, し, た, ま, あ, り, っ, い, る, 起, き, 誰, や
    day -2: 一昨日, おととい, おとつい
    day -1: 昨日, きのう, 昨夜, 昨晩, ゆうべ, 夕べ
    day 0: 今日, きょう, 本日, 今朝, 今晩, 今夜
    day 1: 明日, あした, あす, 明朝, 明晩
    day 2: 明後日, あさって
    day -3: 一昨々日, さきおととい
    period week -1: せんしゅう, 先週, 前週
    period week 0: こんしゅう, 今週
    period week 1: らいしゅう, 来週, 翌週
    period week -2: 先々週, 先先週
    period week 2: 再来週, さらいしゅう
    period month -1: 先月, せんげつ
    period month 0: 今月, こんげつ
    period month 1: 来月, 翌月
    period month -2: 先々月
    period month 2: 再来月
    period year -1: 去年, 昨年, 前年
    period year 0: 今年, 本年
    period year 1: 来年, 翌年
    period year -2: 一昨年, おととし
    period year 2: 再来年
    period quarter -1: 前四半期
    period quarter 0: 今四半期
    rel -1: 過去, 直近, 最近, 最後の
    recent: この, ここ
    rel 1: 今後, これから, 次の
    unit minute: 分, 分間
    unit hour: 時間
    unit day: 日, 日間
    unit week: 週間, 週
    unit month: か月, ヶ月, ヵ月, カ月, ケ月, 箇月, ヶ月間, か月間, カ月間, ヵ月間
    unit year: 年, 年間
    weekend: 週末
    period_weekend -1: 先週末
    period_weekend 0: 今週末
    period_weekend 1: 来週末
    weekday 0: げつようび, 月曜日, 月曜
    weekday 1: かようび, 火曜日, 火曜
    weekday 2: すいようび, 水曜日, 水曜
    weekday 3: もくようび, 木曜日, 木曜
    weekday 4: きんようび, 金曜日, 金曜
    weekday 5: どようび, 土曜日, 土曜
    weekday 6: にちようび, 日曜日, 日曜
    season spring: 春, 春季
    season summer: 夏, 夏季
    season autumn: 秋, 秋季
    season winter: 冬, 冬季
    number 2-5: 数
    era 2018: 令和
    era 1988: 平成
    era 1925: 昭和
    year_mark: 年
    month_mark: 月
    day_mark: 日
    ago: 前, まえ
    later: 後, のち, 以内
    since_last: から, 以来, 以降, からの, からずっと
    before_last: より前, 以前, の前, までに, より前の, よりも前, よりも前の
    until_last: まで, までの
    after_last: より後, の後, の後に, より後の, よりも後, よりも後の
    to: から, と
    to_last: まで, までの, の間, の間に, の間の, にかけて
    on: この
    of: の
    on_last: に, の, は, には, で, ごろ, 頃, ころ
    part_last early: 上旬, 初旬, 初め, はじめ, 頭
    part_last middle: 中旬, 半ば
    part_last late: 下旬, 末
    part_of_day: の朝, の夜, の晩, の午前, の午後, 朝, 夜, 晩
    nothing: 三日月, 五月雨, 今日子, 日本, 日曜大工, 二日酔い, 四十九日, 一日中, 七夕
    nothing: 前日比, 五月蝿い, 春日, 千秋, 夏目, 秋葉原, 秋田, 春巻き, 冬瓜, 以前から
    nothing: 五月天, 年代, 五月晴れ, 立春, 立夏, 立秋, 立冬, 春分, 秋分
"""
