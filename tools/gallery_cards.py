"""Write the cards of the gallery that are kept: ``python tools/gallery_cards.py``, after a change of them."""

from smemviz.app.library import Library
from smemviz.app.pages.gallery_cards import CARDS, write_cards
from smemviz.app.pages.gallery_page import made_card
from smemviz.paths import every_gallery, kernels_dir

if __name__ == "__main__":
    library = Library(every_gallery())
    (kernels_dir() / CARDS).write_text(write_cards(library, lambda file: made_card(library, file)), "utf-8")
