"""What the needles are about: the benchmark's ten categories, with ten values each of our own choice.

No value holds another one, and a number is neither a year nor round: a reply that gives one gives no other. Short
words are left out where longer ones hold them ("fig" is in "figure").
"""

_WORDS = {
    "number": "3847 4163 5208 5719 6394 7052 7481 8236 8915 9627",
    "animal": "badger otter walrus hedgehog giraffe pelican tortoise beaver panther dolphin",
    "flower": "tulip orchid dahlia peony jasmine lavender magnolia begonia primrose marigold",
    "color": "turquoise crimson indigo magenta scarlet maroon purple beige amber violet",
    "city": "Nairobi Lisbon Kyoto Montreal Helsinki Bogota Hanoi Prague Seville Antwerp",
    "fruit": "mango papaya apricot banana coconut pineapple raspberry blueberry nectarine pomegranate",
    "element": "helium cobalt nickel titanium platinum tungsten silicon lithium calcium krypton",
    "planet": "Mercury Venus Jupiter Saturn Uranus Neptune Pluto Ceres Haumea Makemake",
    "instrument": "cello trumpet bassoon mandolin oboe clarinet banjo violin trombone accordion",
    "gemstone": "ruby emerald topaz garnet sapphire onyx malachite moonstone zircon peridot",
}
VALUES: dict[str, tuple[str, ...]] = {category: tuple(words.split()) for category, words in _WORDS.items()}
