# Names as a stranger may choose them: each would do harm, or vanish, in one form or another.

NAMES = (
    "<b>bold</b>",
    "a|b*c*",
    "two\nlines",
    "\x1b[31mred\x07",
    "-o",
    "`code` _em_ $x$ &amp; [l](http://h)",
    "# heading",
    "'; rm -rf / #",
)
