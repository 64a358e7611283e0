"""The ids that pages lay out and scripts look for, written here only: scripts have them as ``window.smemviz.ids``."""

# The frame of every page.
PAGE = "page"
FIRST_WORDS = "first-words"
TOGGLE_THEME = "toggle-theme"
PROVIDER = "provider"
HELP = "help"
OPEN_HELP = "open-help"
LETTER_KEYS = "letter-keys"
WORKING = "working"
WORKING_POLL = "working-poll"

# Types of what goes by a name beside its type.
CONTROL = "control"
CHOICE = "choice"  # around a control whose options a run turns out to have

# A kernel.
KERNELS = "kernels"
VERSION = "version"
SOURCE = "source"
SOURCE_PANEL = "source-panel"
WHY = "why"
LIT = "lit"  # says what is pointed at or pinned in the pictures
HEADLINE = "headline"
STAGED_HEADLINE = "staged-headline"  # stands in for the headline while another layout is shown
LAYOUTS = "layouts-choice"
LAYOUT_SAYS = "layout-says"
TILE = "tile"
REQUEST = "request"
WARPS = "warps"
PLAY = "play"
POSITION = "position"
POSITION_TEXT = "position-text"
STEPPED = "stepped"
STEPPED_GLOBALLY = "stepped-globally"
GLOBAL_MEMORY = "global-memory"
GLOBAL_OPEN = "global-open"

# The editor, layouts, the matrix product.
EDITOR = "editor"
EDITOR_STATUS = "editor-status"
EDITOR_TEXT = "editor-text"
LAB_PAGE = "lab-page"
MATMUL_PAGE = "matmul-page"
STEP_PLAY = "step-play"
STEP_PLAYING = "step-playing"

# Lessons.
LEARN_TITLE = "learn-title"
LEARN_STEPS = "learn-steps"
LEARN_STEP = "learn-step"
LEARN_PRESENT = "learn-present"
LEARN_ANSWER_PLACE = "learn-answer-place"
LEARN_CHECK = "learn-check"
LEARN_BECAUSE = "learn-because"
LEARN_PANELS = "learn-panels"


def handed_over() -> dict[str, str]:
    """Return every id by its name here, as scripts have them."""
    return {name: value for name, value in globals().items() if name.isupper()}
