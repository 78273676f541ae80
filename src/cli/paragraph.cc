#include "cli/paragraph.h"

#include <algorithm>
#include <vector>

namespace ridge::cli {
namespace {

// Length in bytes of the first character; 1 for invalid UTF-8.
size_t length_of(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return std::min(length, text.size());
}

unsigned code_point(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(character[i])); };
  switch (character.size()) {
    case 2: return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3: return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    case 4: return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
    default: return byte(0);
  }
}

// Unicode's East Asian Width, classes W and F, as far as the texts use them: CJK from U+2E80 to U+A4CF, Hangul, compatibility
// ideographs, full-width forms, supplementary ideographs. (Standard Annex 11.)
bool is_wide(unsigned point) {
  return (point >= 0x2E80 && point <= 0xA4CF) || (point >= 0xAC00 && point <= 0xD7A3) ||
         (point >= 0xF900 && point <= 0xFAFF) || (point >= 0xFE30 && point <= 0xFE6F) ||
         (point >= 0xFF00 && point <= 0xFF60) || (point >= 0xFFE0 && point <= 0xFFE6) ||
         (point >= 0x20000 && point <= 0x3FFFD);
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

// An unbreakable piece.
struct Piece {
  std::string text;
  bool blank_before = false;
};

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
  return pieces;
}

}  // namespace

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, length_of(text));
    columns += is_wide(code_point(character)) ? 2 : 1;
    text.remove_prefix(character.size());
  }
  return columns;
}

std::string paragraph(std::string_view lead, std::string_view text, size_t indent, size_t width) {
  std::string lines(lead);
  size_t column = columns_of(lead);
  if (column < indent) {
    lines.append(indent - column, ' ');
    column = indent;
  }
  bool first_in_line = true;
  for (const Piece& piece : pieces_of(text)) {
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

}  // namespace ridge::cli
