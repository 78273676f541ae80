#include "base/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/proc_text.h"

namespace ridge {
namespace {

// Takes records off the front of `text`.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  bool done() const { return at_ >= text_.size(); }

  // The next record; false if a quoted field does not end.
  bool record(std::vector<std::string>& fields) {
    fields.assign(1, "");
    while (!done()) {
      char c = text_[at_++];
      if (c == '"' && fields.back().empty()) {
        if (!quoted(fields.back())) return false;
      } else if (c == ',') {
        fields.emplace_back();
      } else if (c == '\n') {
        return true;
      } else if (c != '\r' || (!done() && text_[at_] != '\n')) {
        fields.back() += c;
      }
    }
    return true;
  }

 private:
  bool quoted(std::string& field) {
    while (!done()) {
      char c = text_[at_++];
      if (c != '"') {
        field += c;
      } else if (!done() && text_[at_] == '"') {
        field += '"';
        ++at_;
      } else {
        return true;
      }
    }
    return false;
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::string cell_text(const Json& row, const Json::json_pointer& member) {
  if (!row.contains(member)) return "";
  const Json& value = row.at(member);
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_array()) return fmt::format("{}", fmt::join(value.get<std::vector<std::string>>(), " "));
  return fmt::format("{}", value.get<double>());
}

bool is_empty(const std::vector<std::string>& fields) { return fields.size() == 1 && fields[0].empty(); }

}  // namespace

int Csv::column(std::string_view name) const {
  auto found = std::find(columns.begin(), columns.end(), name);
  return found == columns.end() ? -1 : static_cast<int>(found - columns.begin());
}

Result<Csv> parse_csv(std::string_view text, std::string_view name) {
  auto wrong = [&](const std::string& what) { return Error{Code::kInvalid, fmt::format("table {}: {}", name, what)}; };
  Csv csv;
  Reader reader(text);
  std::vector<std::string> fields;
  for (int number = 1; !reader.done(); ++number) {
    if (!reader.record(fields)) return wrong(fmt::format("a quote in row {} does not end", number));
    if (is_empty(fields)) continue;
    if (csv.columns.empty()) {
      csv.columns = fields;
    } else if (fields.size() != csv.columns.size()) {
      return wrong(fmt::format("row {} has {} fields, the header has {}", number, fields.size(), csv.columns.size()));
    } else {
      csv.rows.push_back(fields);
    }
  }
  if (csv.columns.empty()) return wrong("it is empty; a header row was expected");
  return csv;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_table(std::string_view columns, const Json& rows) {
  std::string header;
  std::vector<Json::json_pointer> members;
  for (const std::string& word : split_words(std::string(columns))) {
    const size_t name_end = std::min(word.find('='), word.size());
    header += (header.empty() ? "" : ",") + word.substr(0, name_end);
    members.emplace_back(name_end < word.size() ? word.substr(name_end + 1) : "/" + word);
  }
  std::string text = header + "\n";
  for (const Json& row : rows)
    for (const Json::json_pointer& member : members)
      text += csv_field(cell_text(row, member)) + (&member == &members.back() ? "\n" : ",");
  return text;
}

}  // namespace ridge
