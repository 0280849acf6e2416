"""The paper's own numbers, as printed, under the labels of its tables and figures.

Of figures the drawn values are kept: a point and half the height of its band. Where the paper disagrees with itself so
do these: Walker2d's numbers stand at 0.05 in `tab:mujoco_app` and at 0.15 in `fig:eps`; WocaR-PPO on Hopper under SA-RL
has 2390 in the table and 2990 in the figure.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

from wocar.report.model import PaperNumber

ABOUT: dict[str, str] = {
    "tab:mujoco_app": "PPO on MuJoCo; ATLA and RADIAL with twice the steps or more",
    "tab:mujoco_app_less": "PPO on MuJoCo, all with the same steps",
    "tab:atari_app": "DQN on Atari; at 3/255 also tab:atari",
    "tab:a2c_app": "A2C on BankHeist",
    "fig:eps": "return against eps",
    "app:fig:weight": "natural and worst return of WocaR-PPO for ten values of kappa_wst, which are not named",
    "app:fig:abl": "ablation of the state importance w(s)",
    "app:fig:reg": "ablation of the regulariser",
    "efficiency": "hours and millions of steps of training",
}

# "# TASK COLUMN..." opens a block, a column being attack@eps; then "METHOD[+SETTING=VALUE] mean±std ...".
TEXT: dict[str, str] = {
    "tab:mujoco_app": """
# HalfCheetah none random@0.15 maxdiff@0.15 robust-sarsa@0.15 sa-rl@0.15 pa-ad@0.15
ppo 7117±98 5486±1378 1836±866 489±758 -660±218 -356±407
sa-ppo 3632±20 3619±18 3624±23 3283±20 3028±23 2512±16
atla-ppo 6157±852 6164±603 5790±174 4806±392 5058±418 2576±548
pa-atla-ppo 6289±342 6215±346 5961±253 5226±114 4872±379 3840±273
radial-ppo 4724±14 4731±42 3994±156 3864±232 3253±131 2674±168
wocar-ppo 6032±68 5969±149 5850±228 5319±220 5365±54 4269±172
# Hopper none random@0.075 maxdiff@0.075 robust-sarsa@0.075 sa-rl@0.075 pa-ad@0.075
ppo 3167±542 2101±793 1410±655 794±238 636±9 160±136
sa-ppo 3705±2 2710±801 2652±835 1130±42 1076±791 856±21
atla-ppo 3291±600 3165±576 2814±725 2244±618 1772±802 1232±350
pa-atla-ppo 3449±237 3325±239 3145±546 3002±329 1529±284 2521±325
radial-ppo 3740±44 3729±100 3214±142 2141±232 1722±186 1439±204
wocar-ppo 3616±99 3633±30 3541±207 3277±159 2390±145 2579±229
# Walker2d none random@0.05 maxdiff@0.05 robust-sarsa@0.05 sa-rl@0.05 pa-ad@0.05
ppo 4472±635 3007±1200 2869±1271 1336±654 1086±516 804±130
sa-ppo 4487±61 4465±39 3668±689 3808±138 2908±336 1042±353
atla-ppo 3842±475 3927±368 3836±492 3239±294 3663±707 1224±770
pa-atla-ppo 4178±529 4129±78 4024±272 3966±307 3450±178 2248±131
radial-ppo 5251±12 5184±42 4494±150 3572±239 3320±245 1395±194
wocar-ppo 4156±495 4244±157 4177±176 4093±138 3770±196 2722±173
# Ant none random@0.15 maxdiff@0.15 robust-sarsa@0.15 sa-rl@0.15 pa-ad@0.15
ppo 5687±758 5261±1005 1759±828 268±227 -872±436 -2580±872
sa-ppo 4292±384 4986±452 4662±522 3412±1755 2511±1117 -1296±923
atla-ppo 5359±153 5366±104 5240±170 4136±149 3765±101 220±338
pa-atla-ppo 5469±106 5496±158 5328±196 4124±291 3694±188 2986±364
radial-ppo 5076±254 5031±142 4777±156 3731±177 3188±115 1544±194
wocar-ppo 5596±225 5558±241 5284±182 4339±160 3822±185 3164±163
""",
    "tab:mujoco_app_less": """
# HalfCheetah none random@0.15 maxdiff@0.15 robust-sarsa@0.15 sa-rl@0.15 pa-ad@0.15
atla-ppo 4817±277 4809±186 4584±100 4074±285 4129±348 1856±294
pa-atla-ppo 5023±282 5076±149 4720±334 4392±158 4159±248 3085±295
radial-ppo 4683±97 4625±190 3674±222 3529±173 2893±165 2197±251
wocar-ppo 6032±68 5969±149 5850±228 5319±220 5365±54 4269±172
# Hopper none random@0.075 maxdiff@0.075 robust-sarsa@0.075 sa-rl@0.075 pa-ad@0.075
atla-ppo 3265±342 3195±275 2675±332 2098±398 1542±639 1135±289
pa-atla-ppo 3429±196 3455±315 3072±478 2889±258 1458±274 2032±244
radial-ppo 3687±80 3627±106 2952±126 1094±248 1243±187 1036±142
wocar-ppo 3616±99 3633±30 3541±207 3277±159 2390±145 2579±229
# Walker2d none random@0.05 maxdiff@0.05 robust-sarsa@0.05 sa-rl@0.05 pa-ad@0.05
atla-ppo 2664±366 2695±320 2547±210 2439±174 2092±144 1544±280
pa-atla-ppo 3047±223 3112±111 2865±230 2742±177 2450±229 1987±246
radial-ppo 2143±153 2231±89 2095±121 1680±193 1078±115 1274±117
wocar-ppo 4156±495 4244±157 4177±176 4093±138 3770±196 2722±173
# Ant none random@0.15 maxdiff@0.15 robust-sarsa@0.15 sa-rl@0.15 pa-ad@0.15
atla-ppo 4249±243 4218±161 4036±173 3391±158 2045±203 -349±175
pa-atla-ppo 4533±238 4492±190 4232±203 3579±261 2762±152 1765±185
radial-ppo 4379±230 4194±52 3278±138 2348±232 1380±145 157±124
wocar-ppo 5596±225 5558±241 5284±182 4339±160 3822±185 3164±163
""",
    "tab:atari_app": """
# Pong none pgd-10@1/255 pgd-10@3/255 minbest@1/255 minbest@3/255 pa-ad@1/255 pa-ad@3/255
dqn 21.0±0.0 -21.0±0.0 -21.0±0.0 -7.4±2.8 -9.7±4.0 -18.2±2.3 -19.0±2.2
sa-dqn 21.0±0.0 21.0±0.0 21.0±0.0 21.0±0.0 20.6±3.5 20.4±1.8 18.7±2.6
radial-dqn 21.0±0.0 21.0±0.0 21.0±0.0 21.0±0.0 19.5±2.1 20.3±2.5 13.2±1.8
wocar-dqn 21.0±0.0 21.0±0.0 21.0±0.0 21.0±0.0 20.8±3.3 21.0±0.2 19.7±2.4
# Freeway none pgd-10@1/255 pgd-10@3/255 minbest@1/255 minbest@3/255 pa-ad@1/255 pa-ad@3/255
dqn 34.0±0.1 0.0±0.0 0.0±0.0 9.5±3.0 5.5±1.8 9.3±2.7 4.7±2.9
sa-dqn 30.0±0.0 30.0±0.0 30.0±0.0 27.2±3.4 18.3±3.0 20.1±4.0 9.5±3.8
radial-dqn 33.1±0.2 33.1±0.2 33.2±0.2 22.6±3.3 16.4±2.3 18.5±4.2 10.8±3.6
wocar-dqn 31.2±0.4 31.2±0.5 31.4±0.3 29.6±2.5 19.8±3.8 24.9±3.7 12.3±3.2
# BankHeist none pgd-10@1/255 pgd-10@3/255 minbest@1/255 minbest@3/255 pa-ad@1/255 pa-ad@3/255
dqn 1308±24 54±20 0±0 210±79 119±65 213±111 102±92
sa-dqn 1245±14 1245±10 1176±63 1148±36 1024±31 1054±11 489±106
radial-dqn 1178±4 1178±4 1176±63 1049±27 928±113 1035±46 508±85
wocar-dqn 1220±12 1220±3 1214±7 1192±12 1045±20 1096±19 754±102
# RoadRunner none pgd-10@1/255 pgd-10@3/255 minbest@1/255 minbest@3/255 pa-ad@1/255 pa-ad@3/255
dqn 45527±4894 0±0 0±0 14962±6431 2985±1440 842±41 203±65
sa-dqn 44638±2367 43970±975 20678±1563 39736±2315 4214±2587 38432±3574 5516±4684
radial-dqn 44675±5854 44605±1094 38576±1960 38060±1799 8476±3964 36310±9149 1290±4015
wocar-dqn 44156±2279 44079±2154 38720±1765 40758±3369 10545±2984 38954±3647 8239±2766
""",
    "tab:a2c_app": """
# BankHeist none pgd-10@1/255 pgd-10@3/255 minbest@1/255 minbest@3/255 pa-ad@1/255 pa-ad@3/255
a2c 1228±93 67±14 0±0 972±99 697±153 636±74 314±116
sa-a2c 1029±152 1029±156 976±54 902±89 786±52 836±70 644±153
pa-atla-a2c 1076±56 1075±79 1013±69 957±78 842±154 862±106 757±132
wocar-a2c 1089±34 1089±78 1035±102 1043±29 937±65 1004±94 879±128
""",
    "fig:eps": """
# Hopper none robust-sarsa@0.05 robust-sarsa@0.075 robust-sarsa@0.1 robust-sarsa@0.15 robust-sarsa@0.2
sa-ppo 3705±2 1978±676 1130±42 1067±11 856±21 759±18
atla-ppo 3291±600 3183±609 2244±618 2069±658 1833±747 1561±921
pa-atla-ppo 3449±237 3275±172 3002±129 2776±333 2541±104 2256±250
wocar-ppo 3616±99 3404±450 3277±292 2990±374 2574±298 2435±321
# Hopper none sa-rl@0.05 sa-rl@0.075 sa-rl@0.1 sa-rl@0.15 sa-rl@0.2
sa-ppo 3705±2 3537±3 1076±391 992±557 727±432 782±196
atla-ppo 3291±600 1878±695 1772±802 1268±837 961±852 926±785
pa-atla-ppo 3449±237 1972±834 1529±284 1181±797 884±385 892±732
wocar-ppo 3616±99 2964±653 2990±304 2544±451 2590±237 1636±385
# Hopper none pa-ad@0.05 pa-ad@0.075 pa-ad@0.1 pa-ad@0.15 pa-ad@0.2
sa-ppo 3705±2 2541±172 856±21 792±399 697±451 664±494
atla-ppo 3291±600 1524±463 1232±350 962±565 719±512 696±347
pa-atla-ppo 3449±237 2986±272 2521±325 2039±663 1765±435 1587±528
wocar-ppo 3616±99 2680±391 2579±245 2413±461 2137±282 1827±352
# Walker2d none robust-sarsa@0.05 robust-sarsa@0.1 robust-sarsa@0.15 robust-sarsa@0.2 robust-sarsa@0.25 robust-sarsa@0.3
sa-ppo 4487±61 4220±1114 3879±530 3808±138 465±156 448±149 484±202
atla-ppo 3842±475 3915±677 3452±764 3239±294 884±201 770±94 591±167
pa-atla-ppo 4178±529 4018±185 3987±176 3966±307 1973±532 1505±734 1342±337
wocar-ppo 4076±495 4697±315 4358±631 4093±316 2801±609 2417±742 1742±844
# Walker2d none sa-rl@0.05 sa-rl@0.1 sa-rl@0.15 sa-rl@0.2 sa-rl@0.25 sa-rl@0.3
sa-ppo 4487±61 3244±1119 2958±884 2908±336 1138±154 1010±116 1170±321
atla-ppo 3842±475 3768±742 3733±479 3663±707 2526±696 2080±916 1227±293
pa-atla-ppo 4178±529 3935±720 3851±298 3450±178 2459±352 2169±589 1167±634
wocar-ppo 4076±495 3933±772 3881±625 3770±363 2995±683 2130±742 1355±666
# Walker2d none pa-ad@0.05 pa-ad@0.1 pa-ad@0.15 pa-ad@0.2 pa-ad@0.25 pa-ad@0.3
sa-ppo 4487±61 3069±794 1502±119 1042±353 642±450 492±124 487±316
atla-ppo 3842±475 3675±704 3615±598 1224±770 1135±352 874±589 671±497
pa-atla-ppo 4178±529 3805±535 3848±233 2248±131 2075±218 1069±462 689±403
wocar-ppo 4076±495 3809±565 3882±259 2722±352 2695±283 1330±174 724±636
""",
    "app:fig:abl": """
# HalfCheetah none maxdiff@0.15 robust-sarsa@0.15 sa-rl@0.15 pa-ad@0.15
sa-ppo 3632±20 3624±23 3283±20 3028±23 2512±16
sa-ppo+importance=True 3854±78 3802±58 3416±34 3145±37 2782±94
wocar-ppo+importance=False 5426±48 5409±216 5193±177 5178±68 4098±154
wocar-ppo 6032±68 5850±228 5319±220 5365±54 4269±172
# Hopper none maxdiff@0.075 robust-sarsa@0.075 sa-rl@0.075 pa-ad@0.075
sa-ppo 3705±2 2652±235 1130±42 1076±186 856±21
sa-ppo+importance=True 3694±265 2743±158 1285±197 1324±229 1025±197
wocar-ppo+importance=False 3574±186 3314±523 3019±278 2034±367 2387±221
wocar-ppo 3616±99 3541±207 3277±159 2390±145 2579±229
# Ant none maxdiff@0.15 robust-sarsa@0.15 sa-rl@0.15 pa-ad@0.15
sa-ppo 4292±324 4662±322 3412±755 2511±617 -1296±423
sa-ppo+importance=True 4528±436 4716±318 3621±632 2684±583 -578±456
wocar-ppo+importance=False 5304±298 5097±234 4238±196 3659±276 2864±223
wocar-ppo 5596±225 5284±182 4339±160 3822±185 3164±163
# Walker2d none maxdiff@0.05 robust-sarsa@0.05 sa-rl@0.05 pa-ad@0.05
sa-ppo 4487±61 3668±289 3808±138 2908±236 1042±193
sa-ppo+importance=True 4576±242 3823±255 3946±172 3104±318 1179±238
wocar-ppo+importance=False 4146±198 4141±191 3986±172 3574±293 2476±294
wocar-ppo 4156±357 4177±176 4093±138 3770±196 2722±173
""",
    "app:fig:reg": """
# HalfCheetah none maxdiff@0.15 robust-sarsa@0.15 sa-rl@0.15 pa-ad@0.15
atla-ppo+reg=False 5766±109 4807±154 3458±238 2485±345 2246±213
pa-atla-ppo+reg=False 5632±168 5012±234 4089±197 2346±225 3249±186
wocar-ppo+reg=False 5469±124 5342±240 4876±272 4752±114 3671±143
wocar-ppo 6032±68 5850±228 5319±220 5365±54 4269±172
# Hopper none maxdiff@0.075 robust-sarsa@0.075 sa-rl@0.075 pa-ad@0.075
atla-ppo+reg=False 3487±452 3081±254 1567±347 1224±191 987±124
pa-atla-ppo+reg=False 3512±287 3024±159 2032±203 1142±198 1679±187
wocar-ppo+reg=False 3568±196 3114±229 2729±364 1615±289 2035±191
wocar-ppo 3616±99 3541±207 3277±159 2390±145 2579±229
# Ant none maxdiff@0.15 robust-sarsa@0.15 sa-rl@0.15 pa-ad@0.15
atla-ppo+reg=False 5612±130 3903±217 1096±329 716±256 89±232
pa-atla-ppo+reg=False 5543±184 4098±225 1554±230 1272±159 669±132
wocar-ppo+reg=False 5388±218 4872±260 3406±253 3023±199 1982±246
wocar-ppo 5596±225 5284±182 4339±160 3822±185 3164±163
# Walker2d none maxdiff@0.05 robust-sarsa@0.05 sa-rl@0.05 pa-ad@0.05
atla-ppo+reg=False 3920±129 3963±36 3219±132 3463±196 1004±125
pa-atla-ppo+reg=False 4192±159 4152±204 3893±258 3315±193 1984±202
wocar-ppo+reg=False 4076±218 4041±248 3902±274 3419±230 2276±187
wocar-ppo 4156±357 4177±176 4093±138 3770±196 2722±173
""",
}

TRADEOFF: dict[str, tuple[str, str]] = {
    "Hopper 0.075": (
        "3616 3322 3478 3565 3641 3663 3685 3697 3711 3738",
        "2579 2688 2634 2603 1999 1935 1765 1505 1040 590",
    ),
    "Walker2d 0.05": (
        "4076 4252 4452 4148 4525 3282 4586 4288 3700 4496",
        "2722 2226 1673 2612 1617 2791 1011 2120 2788 1514",
    ),
    "HalfCheetah 0.15": (
        "5872 5982 6595 6688 5527 6746 6761 6209 6887 7008",
        "4258 4095 3094 2422 4334 1958 1875 4059 1660 1172",
    ),
}
"""app:fig:weight: natural and worst returns, a pair for each kappa_wst."""

EFFICIENCY: dict[str, dict[str, tuple[float, float]]] = {
    "Hopper": {
        "sa-ppo": (3.0, 2.0),
        "atla-ppo": (5.6, 5.0),
        "pa-atla-ppo": (5.2, 5.0),
        "radial-ppo": (3.2, 4.0),
        "wocar-ppo": (2.3, 2.0),
    },
    "Ant": {
        "sa-ppo": (8.9, 10.0),
        "atla-ppo": (12.8, 10.0),
        "pa-atla-ppo": (12.3, 10.0),
        "radial-ppo": (10.2, 10.0),
        "wocar-ppo": (8.7, 7.5),
    },
}
"""efficiency: hours on a GeForce 1080 Ti, and millions of steps; among the published numbers the "attacks" that they
stand under are called hours and steps."""


@cache
def published() -> tuple[PaperNumber, ...]:
    """Every return in the tables and in the figures that are drawn against eps, kappa_wst or as bars, each once."""
    printed = dict.fromkeys(number for label, text in TEXT.items() for number in _numbers(label, text))
    return *printed, *_tradeoff(), *_efficiency()


def _numbers(label: str, text: str) -> Iterator[PaperNumber]:
    task, columns = "", []
    for line in text.strip().splitlines():
        first, *words = line.split()
        if first == "#":
            task, columns = words[0], [word.partition("@") for word in words[1:]]
            continue
        method, _, variant = first.partition("+")
        for (attack, _, eps), word in zip(columns, words, strict=True):
            mean, std = map(float, word.split("±"))
            yield PaperNumber(label, task, method, variant, attack, float(Fraction(eps or 0)), mean, std)


def _tradeoff() -> Iterator[PaperNumber]:
    for key, lists in TRADEOFF.items():
        task, eps = key.split()
        natural, worst = (map(float, words.split()) for words in lists)
        for i, (clean, attacked) in enumerate(zip(natural, worst, strict=True), start=1):
            common = ("app:fig:weight", task, "wocar-ppo", f"kappa_wst #{i}")
            yield PaperNumber(*common, "none", 0.0, clean, math.nan)
            yield PaperNumber(*common, "worst", float(eps), attacked, math.nan)


def _efficiency() -> Iterator[PaperNumber]:
    for task, methods in EFFICIENCY.items():
        for method, (hours, steps) in methods.items():
            yield PaperNumber("efficiency", task, method, "", "hours", 0.0, hours, math.nan)
            yield PaperNumber("efficiency", task, method, "", "steps", 0.0, steps, math.nan)
