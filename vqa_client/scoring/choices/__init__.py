"""Which choice a reply gives: from its words, as published, by its logprobs or as the server enforced it.

How a choice is read. A reply goes through these files once, from top to bottom; each stage gets what it needs as data
and calls none of the stages before it.

* `scoring.reply` has taken off thoughts, tokens, wrappers and markup. `choice` is the way itself: places become letters
  ("the second option"), a further question that the model invents after its answer is cut off, the stages are asked in
  turn, and what the first one finds becomes an answer with its status.
* `choice_reply`, `grammar` and `labels` prepare the reply. The question's labels are compiled once for all replies to
  it. Each letter that may be a label becomes a `Token`, which says what follows it: a label stands by itself, not in a
  formula ("c_1"), a word ("I think") or a name ("vitamin C"). `options` has the texts of the choices, folded at the
  first look.
* `declared` finds what the reply declares: a phrase of one of the kinds in `grammar.CUES` ("The answer is B", "B is
  correct"), an answer that markup sets apart (\\boxed{B}), a line that is nothing but the letter, a table of verdicts,
  the value in which the working ends. The last declaration decides; a weak one ("points to option B") only where
  nothing else is declared and all weak ones agree. `refuted` has the words that take the meaning from a letter: its
  sentence denies, doubts or supposes it, or lends it to others.
* `undeclared` reads replies that declare nothing by their form: the reply is one label or one text, opens with it, or
  sets it apart; or one label is left when all others are excluded.
* `by_text` reads the text of a choice, another form of it, or the word that only it has; `by_sense` a yes or no, and
  that nobody can tell.

`choice.RULES` is the order: the first rule that finds something decides. One label is the answer, several are an
ambiguity, none is a declared non-answer. Of a reply that was cut off, only declarations count. `trace` shows what each
rule would have said.

`modes` has what is not free text; `circular` adds up what was read. Published scripts read in `published/`.
"""
