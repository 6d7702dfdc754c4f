"""Reads rows of data files in their form, and makes questions of them.

One module per form, with one interface (`rows`); `inside` opens a file by its content, `loading` makes the questions
that a benchmark declares. Images in cells, tars and PDF files have names here.
"""
