# SPDX-License-Identifier: Apache-2.0
"""The colours of the sheet: each on each ground that it stands on."""

import pathlib
import re
import unittest

SHEET = (pathlib.Path(__file__).parents[2] / "Sources/TimerWeb/Assets/style.css").read_text()


def schemes():
    """The named colours of light and of dark."""
    light = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", SHEET.split("@media", 1)[0]))
    dark = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", SHEET.split("prefers-color-scheme: dark", 1)[1].split("\n}\n", 1)[0]))
    return {"light": light, "dark": {**light, **dark}}


def brightness(colour):
    """Relative luminance, as WCAG 2 has it."""
    parts = [int(colour[place:place + 2], 16) / 255 for place in (1, 3, 5)]
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one, other):
    bright, dim = sorted((brightness(one), brightness(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


class Colours(unittest.TestCase):
    def least(self, wanted, words, grounds):
        wrong = []
        for scheme, colours in schemes().items():
            for word in words:
                for ground in grounds:
                    value = contrast(colours[word], colours[ground])
                    if value < wanted:
                        wrong.append(f"{scheme}: {word} on {ground} has {value:.2f}, wanted {wanted}")
        self.assertEqual(wrong, [])

    def test_text_has_a_contrast_of_4_5(self):
        self.least(4.5, ["ink", "soft", "link", "ok", "bad", "warn", "run", "plan", "idle"], ["paper", "panel"])
        self.least(4.5, [f"t-{number}" for number in range(8)], ["panel"])
        self.least(4.5, ["ink"], [f"{kind}-{level}" for kind in ("ok", "bad", "plan") for level in "1234"] + ["warn-1"])
        self.least(4.5, ["warn"], ["warn-1"])

    def test_bars_marks_rings_and_fields_have_a_contrast_of_3(self):
        self.least(3, ["ok-bar", "plan-bar", "bad", "warn", "run", "idle", "field", "focus"], ["paper"])

    def test_both_schemes_name_the_same_colours(self):
        light = SHEET.split("@media", 1)[0]
        dark = SHEET.split("prefers-color-scheme: dark", 1)[1].split("\n}\n", 1)[0]
        names = lambda text: set(re.findall(r"--([\w-]+): #", text))
        self.assertEqual(names(light), names(dark))

    def test_nothing_is_loaded_by_the_sheet(self):
        self.assertNotRegex(SHEET, r"url\(|@import|@font-face")


if __name__ == "__main__":
    unittest.main()
