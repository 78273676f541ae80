#include "cli/paragraph.h"

#include <algorithm>
#include <vector>

namespace ridge::cli {
namespace {

// Length in bytes of an SGR sequence ("ESC [ 3 1 m") at the beginning; 0: there is none.
size_t colour_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const size_t end = text.find('m');
  return end == std::string_view::npos ? 0 : end + 1;
}

// Length in bytes of the first character, a colour included; 1 for invalid UTF-8.
size_t length_of(std::string_view text) {
  if (const size_t colour = colour_length(text)) return colour;
  const auto first = static_cast<unsigned char>(text.front());
  const size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return std::min(length, text.size());
}

unsigned code_point(std::string_view character) {
  if (colour_length(character) > 0) return 0;
  const auto byte = [&](size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(character[i])); };
  switch (character.size()) {
    case 2: return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3: return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    case 4: return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
    default: return byte(0);
  }
}

// Unicode's East Asian Width, classes W and F, as far as the texts use them: CJK from U+2E80 to U+A4CF, Hangul,
// compatibility ideographs, full-width forms, supplementary ideographs. (Standard Annex 11.)
bool is_wide(unsigned point) {
  return (point >= 0x2E80 && point <= 0xA4CF) || (point >= 0xAC00 && point <= 0xD7A3) ||
         (point >= 0xF900 && point <= 0xFAFF) || (point >= 0xFE30 && point <= 0xFE6F) ||
         (point >= 0xFF00 && point <= 0xFF60) || (point >= 0xFFE0 && point <= 0xFFE6) ||
         (point >= 0x20000 && point <= 0x3FFFD);
}

// Columns of one character.
size_t width_of(std::string_view character) {
  const unsigned point = code_point(character);
  return point == 0 ? 0 : is_wide(point) ? 2 : 1;
}

// No line break before these.
bool closes(std::string_view character) {
  constexpr std::string_view kClosing[] = {"，", "。", "；", "：", "、", "！", "？",
                                           "）", "」", "』", "》", "”",  "’",  "…"};
  return std::find(std::begin(kClosing), std::end(kClosing), character) != std::end(kClosing);
}

bool opens(std::string_view character) {
  constexpr std::string_view kOpening[] = {"（", "「", "『", "《", "“", "‘"};
  return std::find(std::begin(kOpening), std::end(kOpening), character) != std::end(kOpening);
}

// True if `word` is a unit, which stays with its number: "12.4 ms,".
bool is_unit(std::string_view word) {
  constexpr std::string_view kUnits[] = {
      "%",       "×",       "s",       "ms",      "µs",        "ns",     "min",      "h",         "k",     "M",
      "G",       "T",       "P",       "B",       "kB",        "MB",     "GB",       "TB",        "KiB",   "MiB",
      "GiB",     "TiB",     "MB/s",    "GB/s",    "TB/s",      "W",      "J",        "mJ",        "kWh",   "°C",
      "Hz",      "MHz",     "GHz",     "MT/s",    "GT/s",      "bit",    "FLOP",     "MFLOP",     "GFLOP", "TFLOP",
      "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s", "FLOP/byte", "rows/s", "tokens/s", "requests/s"};
  const size_t end = word.find_last_not_of(",;:.)]");
  return end != std::string_view::npos && std::ranges::find(kUnits, word.substr(0, end + 1)) != std::end(kUnits);
}

// An unbreakable piece.
struct Piece {
  std::string text;
  bool blank_before = false;
};

// Numbers and their units as one piece.
std::vector<Piece> with_units(std::vector<Piece> pieces) {
  std::vector<Piece> joined;
  for (Piece& piece : pieces) {
    const std::string_view before = joined.empty() ? std::string_view() : joined.back().text;
    const size_t length = before.size();
    const bool number = length > 0 && before.back() >= '0' && before.back() <= '9';
    const bool prefixed = length > 2 && before[length - 2] == ' ' && std::string_view("kMGTP").find(before.back()) < 5;
    if (piece.blank_before && (number || prefixed) && is_unit(piece.text))
      joined.back().text += " " + piece.text;
    else
      joined.push_back(std::move(piece));
  }
  return joined;
}

std::vector<Piece> pieces_of(std::string_view text) {
  std::vector<Piece> pieces;
  bool blank = false;
  bool open = false;       // the last piece may still grow
  bool keep_next = false;  // an opening bracket takes the next character with it
  while (!text.empty()) {
    const std::string_view character = text.substr(0, length_of(text));
    text.remove_prefix(character.size());
    if (character == " " || character == "\n") {
      blank = true;
      open = false;
      continue;
    }
    const bool wide = is_wide(code_point(character));
    const bool joins = !blank && !pieces.empty() && (closes(character) || keep_next || (open && !wide));
    if (joins) {
      pieces.back().text += character;
    } else {
      pieces.push_back({std::string(character), blank});
    }
    open = !wide || (joins && open && !wide);
    keep_next = opens(character);
    blank = false;
  }
  return with_units(std::move(pieces));
}

// `pieces` with those wider than `width` broken.
std::vector<Piece> broken(const std::vector<Piece>& pieces, size_t width) {
  std::vector<Piece> parts;
  for (const Piece& piece : pieces) {
    parts.push_back({"", piece.blank_before});
    size_t column = 0;
    for (std::string_view rest = piece.text; !rest.empty();) {
      const std::string_view character = rest.substr(0, length_of(rest));
      rest.remove_prefix(character.size());
      if (column > 0 && column + width_of(character) > width) {
        parts.push_back({"", false});
        column = 0;
      }
      parts.back().text += character;
      column += width_of(character);
    }
  }
  return parts;
}

size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

// Bytes of `line` before the text below which it continues; 0: it has no such lead.
size_t lead_of(std::string_view line) {
  const size_t indent = indent_of(line);
  const size_t gap = line.find("  ", indent);
  const size_t behind = std::min(line.find_first_not_of(' ', std::min(gap, line.size())), line.size());
  if (behind < line.size()) return behind;
  constexpr size_t kLongestLabel = 12;
  const size_t label = line.find(": ", indent);
  const bool one_word = label != std::string_view::npos && line.find(' ', indent) == label + 1;
  return one_word && label - indent <= kLongestLabel ? label + 2 : 0;
}

std::string fitted_line(std::string_view line, size_t width) {
  if (columns_of(line) <= width) return std::string(line) + "\n";
  const size_t lead = lead_of(line), column = columns_of(line.substr(0, lead));
  if (lead > 0 && column <= width / 2) return paragraph(line.substr(0, lead), line.substr(lead), column, width);
  // The first word as a lead, so that only the lines below go in further.
  const size_t indent = indent_of(line);
  const size_t word = std::min(line.find(' ', indent), line.size() - 1) + 1;
  return paragraph(line.substr(0, word), line.substr(word), indent + 2, width);
}

}  // namespace

std::vector<std::string_view> lines_in(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, length_of(text));
    columns += width_of(character);
    text.remove_prefix(character.size());
  }
  return columns;
}

size_t widest_word(std::string_view text) {
  size_t widest = 0;
  for (const Piece& piece : pieces_of(text)) widest = std::max(widest, columns_of(piece.text));
  return widest;
}

std::string cut(std::string_view text, size_t width) {
  if (columns_of(text) <= width) return std::string(text);
  std::string kept;
  size_t column = 0;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, length_of(text));
    column += width_of(character);
    if (column >= width) break;
    kept += character;
    text.remove_prefix(character.size());
  }
  return width == 0 ? "" : kept + "…";
}

std::string paragraph(std::string_view lead, std::string_view text, size_t indent, size_t width, LongWord long_word) {
  std::string lines(lead);
  size_t column = columns_of(lead);
  if (column < indent) {
    lines.append(indent - column, ' ');
    column = indent;
  }
  std::vector<Piece> pieces = pieces_of(text);
  if (long_word == LongWord::kBreaks) pieces = broken(pieces, width - std::min(width - 1, indent));
  bool first_in_line = true;
  for (const Piece& piece : pieces) {
    const size_t needed = columns_of(piece.text) + (piece.blank_before && !first_in_line ? 1 : 0);
    if (!first_in_line && column + needed > width) {
      lines += "\n" + std::string(indent, ' ');
      column = indent;
      first_in_line = true;
    }
    if (piece.blank_before && !first_in_line) lines += ' ';
    lines += piece.text;
    column += first_in_line ? columns_of(piece.text) : needed;
    first_in_line = false;
  }
  return lines + "\n";
}

std::string fitted(std::string_view text, size_t width) {
  std::string result;
  for (const std::string_view line : lines_in(text)) result += fitted_line(line, width);
  return result;
}

std::string fitted_command(std::string_view command, size_t indent, size_t width) {
  std::string lines(indent, ' '), word;
  size_t column = indent;
  char quote = 0;
  const auto end_word = [&] {
    const size_t needed = columns_of(word);
    if (column > indent && column + 1 + needed + 2 > width) {
      lines += " \\\n" + std::string(indent + 4, ' ');
      column = indent + 4;
    } else if (column > indent) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += needed;
    word.clear();
  };
  for (const char c : command) {
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    }
    if (c == ' ' && quote == 0)
      end_word();
    else
      word += c;
  }
  end_word();
  return lines + "\n";
}

}  // namespace ridge::cli
