"""The paths of the pages, for all that leads to them."""

GALLERY = "/"
KERNEL = "/kernel"
COMPARE = "/compare"
EDITOR = "/editor"
GPUS = "/gpus"
LAB = "/lab"
SWIZZLES = "/swizzles"
LEARN = "/learn"
MATMUL = "/matmul"
NUMBERS = "/numbers"  # the page that explains every number
