"""Replies of the form `<answer> because <explanation>`: taken apart, as published and carefully, and compared."""
