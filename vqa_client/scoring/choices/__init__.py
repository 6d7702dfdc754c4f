"""Read the choice that a reply gives: from its words, from its logprobs, or as the server constrained it.

How a choice is read from words. A reply passes through these files once, in this order; no stage calls an earlier one.

1. `scoring.reply` removes thoughts, special tokens, wrappers and markup. `choice` then runs the whole way: it replaces
   ordinals by labels ("the second option"), cuts off a question that the model invents after its answer, tries the
   rules in turn, and turns what the first one finds into an answer with its status.
2. `choice_reply`, `grammar` and `labels` prepare the reply. Patterns are compiled once per set of labels. Each letter
   that may be a label becomes a `Token`; a letter in a formula ("c_1"), a word ("I think") or a name ("vitamin C") is
   not a label. `options` has the texts of the choices, folded when a rule first needs them.
3. `declared` finds declarations: a phrase of `grammar.CUES` ("The answer is B", "B is correct"), an answer that markup
   sets apart (\\boxed{B}), a line that contains only the label, a table of verdicts, or the value at the end of the
   working. The last declaration decides; a weak one ("points to option B") counts only if nothing else is declared and
   all weak ones agree. `refuted` has the words that deny, doubt or suppose a label, or attribute it to others.
4. `undeclared` reads a reply without a declaration by its form: it is one label or one text, begins with it or sets it
   apart, or it excludes all labels but one.
5. `by_text` looks for the text of a choice, another form of it, or the word that only one choice has; `by_sense` reads
   a yes or no, and that the answer can't be determined.

`choice.RULES` is this order: the first rule that finds something decides. One label is the answer, several are
ambiguous, and none means that the reply declares to have no answer. In a truncated reply only declarations count.
`trace` shows what each rule finds.

`modes` reads labels that are not free text, `circular` sums up rotations, `published/` has the published scripts.
"""
