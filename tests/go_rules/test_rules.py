"""Rule sets: presets by any spelling, single rules by name, and the record the kernels read."""

from __future__ import annotations

import dataclasses
import re

import pytest

from go_rules.rule_names import (
    DEFAULT_KOMI,
    DEFAULT_PRESET,
    DEFAULT_RULES,
    PRESETS,
    named_rules,
    preset,
    rules_and_komi,
    rules_from_object,
    rules_from_sgf,
)
from go_rules.rules import Rules, RulesError


@pytest.mark.parametrize("name", PRESETS)
def test_presets_in_any_spelling(name):
    for spelling in (name, name.upper(), name.replace("-", "_"), name.replace("-", " "), f'"{name}"', f" {name} "):
        assert preset(spelling) == PRESETS[name]


def test_aliases_and_default():
    assert preset("TrompTaylor") == preset("tromp-taylor")
    assert preset("nz") == preset("New Zealand")
    assert preset("goe") == preset("ing")
    assert preset("ancient area") == preset("stonescoring")
    assert PRESETS[DEFAULT_PRESET] == (DEFAULT_RULES, DEFAULT_KOMI)


@pytest.mark.parametrize("name", ["", "chess", "korean rules", "tromp--"])
def test_unknown_presets(name):
    with pytest.raises(RulesError, match="unknown rules"):
        preset(name)


@pytest.mark.parametrize("rules", [rules for rules, _ in PRESETS.values()], ids=list(PRESETS))
def test_json_names_every_field(rules):
    rebuilt = Rules(suicide=not rules.suicide, friendly_pass=not rules.friendly_pass)
    for key, value in rules.to_json().items():
        rebuilt = rebuilt.with_value(key, str(value).lower())
    assert rebuilt == rules
    names = {field.name for field in dataclasses.fields(Rules)} - {"cleanup"}  # a way of playing, not of counting
    assert len(rules.to_json()) == len(names)


@pytest.mark.parametrize(
    ("key", "value"), [("ko", "SPIGHT"), ("ko", ""), ("suicide", "1"), ("suicide", None), ("komi", 7), ("", "")]
)
def test_values_that_do_not_exist(key, value):
    with pytest.raises(RulesError):
        DEFAULT_RULES.with_value(key, value)


def test_there_is_no_button_under_territory_scoring():
    """KataGo's networks know none: "not supported by this neural net version"."""
    button, japanese = preset("aga-button")[0], preset("japanese")[0]
    refused = pytest.raises(RulesError, match="a button needs area scoring")
    with refused as error:
        japanese.with_value("hasButton", "true").known_to_networks()
    assert error.value.without == japanese
    with refused:
        button.with_value("scoring", "TERRITORY").known_to_networks()
    for values in ({"hasButton": True, "scoring": "TERRITORY"}, {"scoring": "TERRITORY", "hasButton": True}):
        with refused:
            rules_from_object(values)
    with refused:
        named_rules("button1scoreTERRITORY")
    assert japanese.with_value("hasButton", "false") == japanese
    assert button.with_value("scoring", "AREA") == button


@pytest.mark.parametrize("text", ["koPSK", "koSIMPLE scoreX", "sui2", "komi", "koSIMPLE!", "k" * 300, "ko" * 90])
def test_what_is_no_notation(text):
    with pytest.raises(RulesError):
        named_rules(text)
    assert rules_from_sgf(text) is None


@pytest.mark.parametrize("komi", ["1.2.3", "-", "+-5"])
def test_a_komi_that_is_no_number(komi):
    """It matters to no rule, so a record that has one keeps its rules."""
    text = f"koSIMPLEscoreTERRITORYkomi{komi}"
    for said in (text, f'{{"ko": "SIMPLE", "komi": "{komi}"}}'):
        with pytest.raises(RulesError, match=f"^komi must be .*, not {re.escape(komi)}$"):
            rules_and_komi(said)
    assert rules_from_sgf(text) == (named_rules(text), 6.5)
    assert rules_from_sgf("koSIMPLEscoreTERRITORYkomi1.5") == (named_rules(text), 1.5)
