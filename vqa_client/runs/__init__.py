"""From settings to a finished run: its plans, identity and resume, and the loop that asks and keeps.

`plans` makes what is to be asked, `run_plan` asks it. Variants of a plan are plans made of a plan.
"""
