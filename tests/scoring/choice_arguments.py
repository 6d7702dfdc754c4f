"""Replies whose argument contains letters and values that are not choices, with the letter that each reply means.

Letters in formulas, numbers in the working, and questions that the reply invents after its answer.
"""

from typing import Final

from tests.scoring.choice_label_sets import VEHICLES, Row

NUMBERS: Final = {"A": "3", "B": "6", "C": "8", "D": "5"}
ANGLES: Final = {"A": "10°", "B": "20°", "C": "40°", "D": "80°"}
JOINED: Final = {"A": "p q r", "B": "s t u", "C": "v w x", "D": "Both A and B are right", "E": "A and C are correct"}
VOLTAGES: Final = {label: f"{12 + 3 * at} V" for at, label in enumerate("ABCDEFGH")}
FACTS: Final = {
    "A": "The rate of growth declines sharply at first",
    "B": "The rate of growth declines gradually and then stabilizes",
    "C": "1940's",
    "D": "pot bound",
}
SOLUTIONS: Final = {"A": "neither of them", "B": "Solution B", "C": "Solution A"}
PARTS: Final = {label: label for label in "ABCDE"}

TURNS: Final[tuple[Row, ...]] = (
    ("The answer is (C).\n\nQuestion: Which is largest?\nAnswer: The answer is (D).", "C"),
    ("The answer is (C).\n\nQuestion 2: Which is largest?\nThe answer is (D).", "C"),
    ("The answer is (C).\n\nQ: Which is largest?\nA: The answer is (D).", "C"),
    ("The answer is (C). Q: Which is largest? A: The answer is (D).\nThe answer is (B).", "C"),
    ("So the answer is C.\n\nUser: And which is fastest?\nAssistant: The answer is D.", "C"),
    ("So the answer is C.\n\nHuman: thanks! Which is fastest?\n\nThe answer is D.", "C"),
    ("The correct answer is C.\n\n### Instruction:\nName a boat.\n\n### Response:\nThe answer is D.", "C"),
    ("The answer is C.\n\nProblem 3.\nA boat floats.\nThe answer is D.", "C"),
    ("The answer is C.\n\nExample 2:\nWhich floats?\nAnswer: D", "C"),
    ("The answer is C.\n\nContext: Boats float.\nQuery: Which floats?\nThe answer is D.", "C"),
    ("The answer is C.\n\nNext question: Which floats?\nAnswer: D", "C"),
    ("**Answer: C**\n\n**Question:** Which floats?\n\n**Answer: D**", "C"),
    ("C. tram\n\nQuestion: Which floats?\nAnswer: D", "C"),
    ("tram\n\nQuestion: Which floats?\nAnswer: D", "C"),
    ("C\n\nWhich planet is largest?\nA. Mars\nB. Venus\nC. Earth\nD. Jupiter\nAnswer: D", "C"),
    ("The answer is C.\n\nWhich is largest?\n(A) Mars\n(B) Venus\n(C) Earth\n(D) Jupiter\nThe answer is (D).", "C"),
    ("答案是C。\n\n问题：哪个最大？\n答案是D。", "C"),
    ("Die Antwort ist C.\n\nFrage: Was schwimmt?\nDie Antwort ist D.", "C"),
    ("Question: What runs on rails?\nOptions:\nA. red bus\nB. blue car\nC. tram\nD. ferry\nAnswer: C", "C"),
    (
        "Question: What runs on rails?\nAnswer: C\n\nQuestion: What floats?\nAnswer: D\n\nQuestion: Red?\nAnswer: A",
        "C",
    ),
    ("It is a tram.\n\nQuestion: Which floats?\nAnswer: D", "C"),
    ("I see a **tram** (C).\n\nQuestion: Which floats?\nAnswer: D", "C"),
    ("I see a tram.\n\nQuestion: What is red?\nA. red bus\nB. blue car\nC. tram\nD. ferry\nAnswer: A", "A"),
    ("Let me restate it.\nQuestion: What runs on rails?\nThe rails are visible. The answer is C.", "C"),
    ("The answer is A.\n\nLooking again, there are rails, so the answer is C.", "C"),
    ("The answer is A.\nA. red bus\nC. tram\nSorry, the answer is C.", "C"),
)
"""A question, turn or list that a reply invents doesn't change the answer before it."""

NAMES: Final[tuple[Row, ...]] = (
    ("So C is the vertex of the cone.", None),
    ("Thus B is an alkene.", None),
    ("Therefore, A is a subset of B.", None),
    ("Hence D is a diol.", None),
    ("So B has two protons.", None),
    ("Therefore, C(t) = 5t.", None),
    ("So, B(x, y) = 3.", None),
    ("The solution is y = c e^x + d where c and d are constants.", None),
    ("The answer is c_1 + c_2.", None),
    ("The final result is A = 4 m^2.", None),
    ("So B = 3 T.", None),
    ("The answer is D_0 / 2.", None),
    ("Finally, C is parallel to D.", None),
    ("Thus, B follows from A.", None),
    ("Hence A ∩ B is empty.", None),
    ("So C > D.", None),
    ("So C + D = 5.", None),
    ("So F is 10 N and B lies on AC.", None),
    ("So C is correct.", "C"),
    ("Thus, C is the best choice.", "C"),
    ("Therefore, C is the only one with rails.", "C"),
    ("So C = tram.", "C"),
    ("The answer is C = tram.", "C"),
    ("So C is an acid. The answer is D.", "D"),
    ("Let D be the midpoint of BC. Then the answer is (C).", "C"),
)
"""A letter that names something in the argument is not a choice."""

SENTENCES: Final[tuple[Row, ...]] = (
    ("It was assumed that u = 0. The answer is (B).", "B"),
    ("Initially, the speed is 3 m/s. The answer is (B).", "B"),
    ("At first the charge is Q. Therefore, the answer is B.", "B"),
    ("At first x = V. The answer is B.", "B"),
    ("The force is not F = m. The answer is B.", "B"),
    ("I would not choose B. blue car", None),
    ("The answer is not B. blue car", None),
)
"""A sentence may end in a single character; the full stop of a label doesn't end one."""

TITLES: Final[tuple[Row, ...]] = (
    ("The result is closest to option B.", "B"),
    ("This value is nearest to choice (B).", "B"),
    ("That aligns with option B.", "B"),
    ("This agrees with answer choice B.", "B"),
    ("It comes out equal to option (B).", "B"),
    ("The weight is about **6 (Option B)**.", "B"),
    ("The weight is about 6 (choice B).", "B"),
    ("The next step must be option B.", "B"),
    ("The first thing to do would be option B: fetch the car. A is later.", "B"),
    ("The best guess here is option B.", "B"),
    ("The answer choice (A), red bus, is incorrect. The answer choice (B), blue car, is right.", "B"),
    ("The answer is (B).\n\nThe answer choice (A), red bus, is not applicable.", "B"),
    ("The answer is (B).\n\nThe answer choices (A), (C), and (D) are not correct.", "B"),
    ("It is not closest to option B.", None),
    ("The missing vehicle is the tram.", "C"),
    ("The tram is missing.", None),
)
"""A reply may name an option by its title; an option excluded after its text is not the answer."""

OTHERS: Final[tuple[Row, ...]] = (
    ("Looking at the tram, the correct option is H.", None),
    ("The tram runs on rails. The answer is (K).", None),
    ("It could be the tram, but none of the given options fits.", None),
    ("It looks like a tram. The right answer isn't listed among the options.", None),
    ("It looks like a tram, but the right answer is not given.", None),
    ("The tram isn't an option here, and the value isn't listed.", None),
    ("It shows a tram. The vehicle is not one of the choices.", None),
    ("Es zeigt ein tram, aber keine der Antworten passt.", None),
    ("The options are: (A) The ferry (B) The tram (C) The pier (D) The harbour", None),
    ("Is it the tram?", None),
    ("import cv2\ntram = cv2.imread('x')\nprint(tram)", None),
    ("It" + " stops here, and then the tram starts again, and it" * 5, None),
    ("It is the tram; none of the other options runs on rails.", "C"),
    ("It is a tram, since a red bus and a ferry are not on rails.", "C"),
    ("It is a tram. A red bus, blue car or ferry is less likely.", "C"),
    ("The tram, most likely. The other options, red bus and ferry, are less likely.", "C"),
)
"""The text of a choice is not an answer if the reply gives another letter, rejects all choices or isn't prose."""

WORKING: Final[tuple[Row, ...]] = (
    ("x = 3\ny = 2\nprint(x * y)", None),
    ("We have 3 + 5 = 9 and go on.", None),
    ("3 times 8 gives 24.", None),
    ("It lies between 3 and 9.", None),
    ("The value is 8 - 2.", None),
    ("None of the options match the value 8.", None),
    ("The value is 8.", "C"),
    ("So x = 8.", "C"),
    ("2 + 6 = 8", "C"),
    ("The missing side is 8 cm long.", "C"),
    ("\\boxed{8.0}", "C"),
    ("The answer is (C).\n\nSo x = \\boxed{77}.", "C"),
)

BY_CHOICES: Final = (
    (
        VEHICLES,
        (*TURNS, *NAMES, *SENTENCES, *TITLES, *OTHERS),
    ),
    (NUMBERS, WORKING),
    (ANGLES, (("Angle AOB = (20°) + 140° = 160°", None), ("So the angle is \\boxed{40}.", "C"), ("It is 40°.", "C"))),
    (
        JOINED,
        (
            ("The answer is (D) Both A and B are right.", "D"),
            ("The correct answer is E. A and C are correct.", "E"),
            ("E. A and C are correct", "E"),
            ("Answer: (D) Both A and B are right. C is not.", "D"),
            ("A and C are correct", "E"),
        ),
    ),
    (
        VOLTAGES,
        (
            ("$$H(X) = -\\sum p(x) \\log p(x)$$", None),
            ("F(s) = 3 / (s + 1)", None),
            ("G. 30 V (x)", "G"),
            ("Thus, the voltage is **18 V (Option C)**.", "C"),
        ),
    ),
    (
        FACTS,
        (
            ("As the curve shows, growth would decline gradually, and its rate then stabilizes.", "B"),
            ("Growth declines.", None),
            ("The work dates from the 1940s.", "C"),
            ("The roots show that it is pot-bound.", "D"),
        ),
    ),
    (
        SOLUTIONS,
        (
            ("The answer is **(C) Solution A**.\n\nIn Solution A, there are 4. In Solution B, there are 3.", "C"),
            ("Solution A", "C"),
            ("The answer is Solution B.", "B"),
        ),
    ),
    (PARTS, (("The node is indicated by A.", "A"), ("The node is neither at A nor at B.", None))),
)
