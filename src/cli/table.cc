#include "cli/table.h"

#include <algorithm>
#include <span>

#include "cli/paragraph.h"

namespace ridge::cli {
namespace {

using Cells = std::vector<std::string>;

constexpr size_t kGap = 2, kRemarkIndent = 4;
// A column of text keeps this width while another column may leave, and at last.
constexpr size_t kComfortable = 24, kLeast = 12;

struct Column {
  size_t index = 0;  // in the rows
  char kind = 'l';
  int leaves = 0;                     // 1 first; 0 never
  size_t natural = 0;                 // no cell breaks
  size_t comfortable = 0, least = 0;  // narrowest
  size_t width = 0;
};

using Columns = std::vector<Column>;

const std::string& cell_of(const Cells& cells, size_t index) {
  static const std::string kEmpty;
  return index < cells.size() ? cells[index] : kEmpty;
}

void measure(Column& column, const Cells& header, const std::vector<Cells>& rows) {
  const std::string& title = cell_of(header, column.index);
  const size_t heading = widest_word(title);
  size_t cells = 0, words = 0;
  for (const Cells& row : rows) {
    cells = std::max(cells, columns_of(cell_of(row, column.index)));
    if (column.kind != 'r') words = std::max(words, widest_word(cell_of(row, column.index)));
  }
  const bool number = column.kind == 'r';
  column.natural = std::max(cells, columns_of(title));
  column.comfortable = std::max(heading, number ? cells : std::min(cells, kComfortable));
  column.least = std::max(heading, number ? cells : std::min(words, kLeast));
}

Columns columns_from(const Cells& header, const std::vector<Cells>& rows, std::string_view form) {
  size_t count = header.size();
  for (const Cells& row : rows) count = std::max(count, row.size());
  Columns columns(count);
  for (size_t i = 0; i < count; ++i) {
    columns[i].index = i;
    if (!form.empty()) {
      columns[i].kind = form.front();
      form.remove_prefix(1);
    }
    if (!form.empty() && form.front() >= '0' && form.front() <= '9') {
      columns[i].leaves = form.front() - '0';
      form.remove_prefix(1);
    }
    measure(columns[i], header, rows);
  }
  return columns;
}

// Takes from the widest column until the line fits; false, if no column may become narrower.
bool fit(Columns& columns, size_t width, size_t Column::*floor) {
  size_t total = kGap * (std::max<size_t>(columns.size(), 1) - 1);
  for (Column& column : columns) total += column.width = column.natural;
  while (total > width) {
    Column* widest = nullptr;
    for (Column& column : columns)
      if (column.width > column.*floor && (widest == nullptr || column.width > widest->width)) widest = &column;
    if (widest == nullptr) return false;
    --widest->width;
    --total;
  }
  return true;
}

// Where the columns stand: beside each other in one table or more, below each row, or nowhere.
struct Layout {
  std::vector<Columns> tables;
  Columns below, left_out;
};

void move_to(Columns& target, Columns& columns, size_t at) {
  target.push_back(columns[at]);
  columns.erase(columns.begin() + static_cast<ptrdiff_t>(at));
}

Layout layout_of(Columns columns, size_t width) {
  Layout layout;
  if (fit(columns, width, &Column::comfortable)) return {{columns}, {}, {}};
  for (size_t i = columns.size(); i-- > 1;)
    if (columns[i].kind == 'n') move_to(layout.below, columns, i);
  while (!fit(columns, width, &Column::comfortable)) {
    const auto may_leave = [](const Column& column) { return column.leaves > 0 ? column.leaves : 10; };
    const auto next = std::ranges::min_element(columns, {}, may_leave);
    if (next->leaves == 0) break;
    move_to(layout.left_out, columns, static_cast<size_t>(next - columns.begin()));
  }
  std::ranges::reverse(layout.below);
  std::ranges::sort(layout.left_out, {}, &Column::index);
  if (fit(columns, width, &Column::comfortable) || fit(columns, width, &Column::least)) {
    layout.tables = {columns};
    return layout;
  }
  layout.tables.push_back({columns.front()});
  for (const Column& column : std::span(columns).subspan(1)) {
    Columns& last = layout.tables.back();
    last.push_back(column);
    if (last.size() == 2 || fit(last, width, &Column::comfortable)) continue;
    last.pop_back();
    layout.tables.push_back({columns.front(), column});
  }
  for (Columns& table : layout.tables)
    if (!fit(table, width, &Column::comfortable)) fit(table, width, &Column::least);
  return layout;
}

std::vector<std::string> broken_cell(const std::string& cell, const Column& column, LongWord long_word) {
  if (columns_of(cell) <= column.width) return {cell};
  const size_t indent = std::min(cell.find_first_not_of(' '), column.width / 2);
  const std::string text =
      paragraph(cell.substr(0, indent), std::string_view(cell).substr(indent), indent, column.width, long_word);
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    lines.push_back(text.substr(at, text.find('\n', at) - at));
  return lines;
}

// One row, on as many lines as its highest cell; a heading stands on the last of them.
std::string row_text(const Cells& cells, const Columns& columns, bool heading) {
  std::vector<std::vector<std::string>> broken;
  size_t height = 1;
  for (const Column& column : columns) {
    const bool keep = column.kind == 'r' && !heading;
    broken.push_back(
        broken_cell(cell_of(cells, column.index), column, keep ? LongWord::kOverflows : LongWord::kBreaks));
    height = std::max(height, broken.back().size());
  }
  std::string text;
  for (size_t line = 0; line < height; ++line) {
    std::string row;
    for (size_t i = 0; i < columns.size(); ++i) {
      const size_t above = heading ? height - broken[i].size() : 0;
      const bool inside = line >= above && line - above < broken[i].size();
      const std::string part = inside ? broken[i][line - above] : "";
      const std::string blanks(columns[i].width - std::min(columns[i].width, columns_of(part)), ' ');
      if (i > 0) row.append(kGap, ' ');
      row += columns[i].kind == 'r' ? blanks + part : part + blanks;
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

std::string below_text(const Cells& cells, const Columns& below, const Cells& header, size_t width) {
  std::string text;
  for (const Column& column : below) {
    const std::string& title = cell_of(header, column.index);
    const std::string& cell = cell_of(cells, column.index);
    if (cell.empty()) continue;
    text += paragraph("", title.empty() ? cell : title + ": " + cell, kRemarkIndent, width, LongWord::kBreaks);
  }
  return text;
}

}  // namespace

std::string table_text(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                       std::string_view columns, size_t width) {
  if (header.empty() && rows.empty()) return "";
  const Layout layout = layout_of(columns_from(header, rows, columns), width);
  std::string text;
  for (const Columns& table : layout.tables) {
    const bool last = &table == &layout.tables.back();
    if (!header.empty()) text += row_text(header, table, true);
    for (const Cells& row : rows)
      text += row_text(row, table, false) + (last ? below_text(row, layout.below, header, width) : "");
    if (!last) text += '\n';
  }
  if (layout.left_out.empty()) return text;
  std::string names;
  for (const Column& column : layout.left_out) names += (names.empty() ? "" : ", ") + cell_of(header, column.index);
  return text + fitted("left out at this width: " + names, width);
}

}  // namespace ridge::cli
