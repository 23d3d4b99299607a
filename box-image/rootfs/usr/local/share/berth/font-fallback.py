

# --- Berth: the box's own end of matplotlib's font search, added when the image is built ----------
# Looking up missing glyphs is per character but only among the families that a program named, so a
# style sheet or one font setting would turn Chinese, Japanese and Korean text into empty boxes.
# Every search therefore ends with the fonts that have these glyphs, and the names of fonts that
# programs expect from Windows or macOS lead to the installed one (a real font of that name wins).
_CJK_FAMILY = "WenQuanYi Micro Hei"
_CJK_NAMES = (
    "SimHei", "SimSun", "NSimSun", "KaiTi", "FangSong", "Microsoft YaHei", "Microsoft JhengHei", "WenQuanYi Zen Hei",
    "PingFang SC", "PingFang TC", "PingFang HK", "Heiti SC", "Heiti TC", "STHeiti", "STSong", "Hiragino Sans GB",
    "Noto Sans CJK SC", "Noto Sans CJK TC", "Noto Sans CJK JP", "Noto Sans CJK KR", "Noto Sans SC", "Source Han Sans SC",
    "Source Han Sans CN", "Arial Unicode MS", "Hiragino Sans", "MS Gothic", "Yu Gothic", "Meiryo", "IPAexGothic",
    "Malgun Gothic", "NanumGothic",
)


def _name_cjk_fonts(manager):
    from dataclasses import replace

    known = {entry.name for entry in manager.ttflist}
    for entry in [entry for entry in manager.ttflist if entry.name == _CJK_FAMILY]:
        manager.ttflist.extend(replace(entry, name=name) for name in _CJK_NAMES if name not in known)


def _find_fonts_with_cjk(self, prop, *args, **kwargs):
    found = _find_fonts_as_named(self, prop, *args, **kwargs)
    for family in ("DejaVu Sans", _CJK_FAMILY):
        last_resort = prop.copy()
        last_resort.set_family(family)
        path = self.findfont(last_resort)
        if path not in found:
            found.append(path)
    return found


_find_fonts_as_named = FontManager._find_fonts_by_props
FontManager._find_fonts_by_props = _find_fonts_with_cjk
_name_cjk_fonts(fontManager)
