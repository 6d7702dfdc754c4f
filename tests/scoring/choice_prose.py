"""Longer replies with the letter that each means; choices are `VEHICLES`."""

from typing import Final

from tests.scoring.choice_replies import Row

PROSE: Final[tuple[Row, ...]] = (
    (
        "Let's analyze each option.\n"
        "\n"
        "A. Red bus – The vehicle in the picture is blue, so this option is incorrect.\n"
        "B. Blue car – The vehicle has four wheels and is blue. This matches.\n"
        "C. Tram – There are no rails.\n"
        "D. Ferry – There is no water.\n"
        "\n"
        "Therefore, the correct answer is B.",
        "B",
    ),
    (
        "Looking at the options:\n\n**A. red bus** ❌\n**B. blue car** ✅\n**C. tram** ❌\n**D. ferry** ❌",
        "B",
    ),
    (
        "To find the answer, consider:\n"
        "\n"
        "1. The color is blue.\n"
        "2. It has four wheels.\n"
        "\n"
        "Based on this, option A can be eliminated, and option C is also out. "
        "The remaining options are B and D. Since there's no water, **B** is the answer.",
        "B",
    ),
    (
        "**Step 1:** ...\n"
        "**Step 2:** ...\n"
        "\n"
        "**Conclusion:** The answer is **B: blue car**.\n"
        "\n"
        "Let me know if you'd like more details on options A, C or D!",
        "B",
    ),
    (
        "The document states in section C that the car is blue. Table A lists vehicles. Thus, the correct answer is:\n"
        "\n"
        "**B. blue car**",
        "B",
    ),
    ("The document states in section C that the car is blue. Table A lists vehicles.", None),
    ("Given the image, I would classify this as a blue car. So B.", "B"),
    (
        "Based on the provided document, the correct answer is **D. ferry**.\n"
        "\n"
        "The other options are wrong:\n"
        "- **A. red bus** is not mentioned.\n"
        "- **B. blue car** appears only in the appendix.\n"
        "- **C. tram** is contradicted by page 3.",
        "D",
    ),
    (
        "D. ferry\n"
        "\n"
        "Explanation:\n"
        "- A. red bus: not mentioned.\n"
        "- B. blue car: appendix only.\n"
        "- C. tram: contradicted.",
        "D",
    ),
    ("**D**\n\n- **A** is wrong: ...\n- **B** is wrong: ...\n- **C** is wrong: ...", "D"),
    ("The correct answer is B (insert answer here).", "B"),
    ("The correct answer is (B. blue car).", "B"),
    ("The correct answer is (blue car).", "B"),
    ("The correct answer is ( B ).", "B"),
    ("The correct answer is [B].", "B"),
    ("The correct answer is: B) blue car", "B"),
    ("The correct answer is **B**: blue car", "B"),
    ("The correct answer is B: because", "B"),
    ('The correct answer is "B. blue car".', "B"),
    ("The single, most likely answer choice is B.", "B"),
    ("The most likely answer is (B).", "B"),
    ("I'm not 100% sure, but the answer is B", "B"),
    ("It's hard to say, but B is the most likely answer.", "B"),
    ("Without more context I can't be certain. However, the most plausible answer is B.", "B"),
    ("The answer is not explicitly stated, but B is the best fit.", "B"),
    ("None of the options is perfect, but the closest is B.", "B"),
    ("While A is tempting, B is correct.", "B"),
    ("Statement B is correct.", "B"),
    ("The correct statement is B.", "B"),
    ("Figure A shows a bus. Figure B shows a car. The answer is Figure B.", "B"),
    ("The correct image is B.", "B"),
    ("Correct option: **b**", "B"),
    ("The answer is option **(b) blue car**", "B"),
    ("Answer: (b). The car is blue", "B"),
    ("answer: b. the car is blue", "B"),
    ("Solution:\nThe car is blue.\nAnswer: b", "B"),
    ("The answer is A\n\nThe answer is B", "B"),
    ("1) B", "B"),
    ("B \n\nReason: In paragraph A it says so.", "B"),
    ("B\nbecause A is not blue", "B"),
    ("B. \n", "B"),
    ("It seems the answer is between A and B; however the evidence supports option B.", "B"),
    ("The evidence supports option B.", "B"),
    ("This suggests that B is correct", "B"),
    ("which corresponds to option B.", "B"),
    ("...which makes B the correct answer.", "B"),
    ("making option B the best choice.", "B"),
    ("That leaves B.", "B"),
    ("This leaves us with option B.", "B"),
    ("the answer must be option B", "B"),
    ("We select answer B", "B"),
    ("We get answer (B)", "B"),
    ("hence option B is correct", "B"),
    ("Hence, (B).", "B"),
    ("∴ B", "B"),
    ("⇒ B", "B"),
    ("So B is the answer", "B"),
    ("so the answer's B", "B"),
    ("Answer: B (confidence: 80%)", "B"),
    ("Answer: B | Confidence: high", "B"),
    ("Answer: B\nConfidence: 0.9\nAlternative: C", "B"),
    ("Answer: B\nSecond choice: C", "B"),
    ("My first choice is B, my second choice is C.", "B"),
)
