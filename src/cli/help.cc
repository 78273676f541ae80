#include "cli/help.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/letter_case.h"
#include "cli/paragraph.h"

namespace ridge::cli {
namespace {

constexpr size_t kIndent = 2;       // [columns] of items and code
constexpr size_t kMostColumn = 26;  // [columns] at which the text of an item begins; a longer head has its own line

// Consecutive lines of one kind.
struct Block {
  enum Kind { kHeading, kParagraph, kItems, kCode } kind;
  std::vector<std::string> lines;  // of items and paragraphs: each whole, in one line
};

std::vector<Block> blocks_of(std::string_view markdown) {
  std::vector<Block> blocks;
  bool code = false;
  bool open = false;  // the next line may continue the last block
  const auto add = [&](Block::Kind kind, std::string_view line, bool joins) {
    if (!open || blocks.back().kind != kind) {
      blocks.push_back({kind, {std::string(line)}});
    } else if (joins) {
      blocks.back().lines.back() += " " + std::string(line);
    } else {
      blocks.back().lines.emplace_back(line);
    }
    open = kind != Block::kHeading;
  };
  for (std::string_view line : lines_in(markdown)) {
    if (line.starts_with("```")) {
      code = !code;
      open = false;
    } else if (code) {
      add(Block::kCode, line, false);
    } else if (line.empty() || line.starts_with("# ")) {
      open = false;
    } else if (line.starts_with("## ")) {
      add(Block::kHeading, line.substr(3), false);
    } else if (line.starts_with("- ")) {
      add(Block::kItems, line.substr(2), false);
    } else if (open && blocks.back().kind == Block::kItems) {
      add(Block::kItems, line.substr(std::min(line.find_first_not_of(' '), line.size())), true);
    } else {
      add(Block::kParagraph, line, true);
    }
  }
  return blocks;
}

// Drops marks of code and targets of links.
std::string plain_text(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const size_t target =
        text.front() == ']' && text.substr(1).starts_with('(') ? text.find(')') : std::string_view::npos;
    if (target != std::string_view::npos) {
      text.remove_prefix(target + 1);
      continue;
    }
    const bool opens_link = text.front() == '[' && text.find("](") < text.find(']') + 1;
    if (text.front() != '`' && !opens_link) plain += text.front();
    text.remove_prefix(1);
  }
  return plain;
}

// "--batch, -b N" of "`--batch, -b N`: rows of one run"; empty if the item begins otherwise.
std::string_view head_of(std::string_view item) {
  const size_t end = item.starts_with('`') ? item.find("`:", 1) : std::string_view::npos;
  return end == std::string_view::npos ? std::string_view() : item.substr(1, end - 1);
}

std::string items_text(const std::vector<std::string>& items, size_t width) {
  size_t column = 0;
  for (const std::string& item : items)
    if (const size_t end = 2 * kIndent + columns_of(head_of(item)); end <= kMostColumn) column = std::max(column, end);
  if (column == 0) column = kMostColumn;
  std::string text;
  for (const std::string& item : items) {
    const std::string_view head = head_of(item);
    std::string lead = std::string(kIndent, ' ');
    if (head.empty()) {
      text += paragraph(lead + "- ", plain_text(item), 2 * kIndent, width);
      continue;
    }
    lead += head;
    if (columns_of(lead) + kIndent > column) {
      text += lead + "\n";
      lead.clear();
    }
    const size_t body = head.size() + 3;
    text += paragraph(lead, plain_text(std::string_view(item).substr(std::min(body, item.size()))), column, width);
  }
  return text;
}

std::string block_text(const Block& block, size_t width) {
  std::string text;
  switch (block.kind) {
    case Block::kHeading: return upper_case(plain_text(block.lines.front())) + "\n";
    case Block::kParagraph: return paragraph("", plain_text(block.lines.front()), 0, width);
    case Block::kItems: return items_text(block.lines, width);
    case Block::kCode:
      for (const std::string& line : block.lines) text += line.empty() ? "\n" : std::string(kIndent, ' ') + line + "\n";
  }
  return text;
}

}  // namespace

std::string help_for_terminal(std::string_view markdown, size_t width) {
  std::string text;
  bool after_heading = true;
  for (const Block& block : blocks_of(markdown)) {
    if (!after_heading) text += '\n';
    text += block_text(block, width);
    after_heading = block.kind == Block::kHeading;
  }
  return text;
}

}  // namespace ridge::cli
