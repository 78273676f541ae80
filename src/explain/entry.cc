#include "explain/entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ridge::explain {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  size_t from = text.find_first_not_of(kBlanks);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlanks) - from + 1);
}

// "a, b、c" → {"a", "b", "c"}; the Chinese enumeration comma separates too.
std::vector<std::string> list_of(std::string_view text, std::string_view separator) {
  std::vector<std::string> items;
  for (;;) {
    size_t end = text.find(separator);
    std::string_view item = trimmed(text.substr(0, end));
    if (!item.empty()) items.emplace_back(item);
    if (end == std::string_view::npos) return items;
    text.remove_prefix(end + separator.size());
  }
}

// The destination of a field's text.
struct Field {
  std::string_view name;
  bool english_only;
  void (*store)(Entry& entry, Wording& wording, std::string_view text);
};

constexpr Field kFields[] = {
    {"name", false, [](Entry&, Wording& w, std::string_view text) { w.name = text; }},
    {"also", false, [](Entry&, Wording& w, std::string_view text) { w.also = list_of(text, ","); }},
    {"what", false, [](Entry&, Wording& w, std::string_view text) { w.what = text; }},
    {"why", false, [](Entry&, Wording& w, std::string_view text) { w.why = text; }},
    {"first", false, [](Entry&, Wording& w, std::string_view text) { w.first = text; }},
    {"deeper", false, [](Entry&, Wording& w, std::string_view text) { w.deeper = text; }},
    {"hurts", false, [](Entry&, Wording& w, std::string_view text) { w.hurts = text; }},
    {"wrong", false, [](Entry&, Wording& w, std::string_view text) { w.wrong = text; }},
    {"ridge", false, [](Entry&, Wording& w, std::string_view text) { w.ridge = text; }},
    {"see", true, [](Entry& e, Wording&, std::string_view text) { e.see = list_of(text, ","); }},
    {"match", true, [](Entry& e, Wording&, std::string_view text) { e.match = list_of(text, " | "); }},
    {"codes", true, [](Entry& e, Wording&, std::string_view text) { e.codes = list_of(text, ","); }},
    {"source", true, [](Entry& e, Wording&, std::string_view text) { e.source = text; }},
};

class Reader {
 public:
  Reader(std::string_view subject, Language language) : subject_(subject), language_(language) {}

  Status line(std::string_view text) {
    ++number_;
    if (trimmed(text).empty() || text.starts_with("# ") || text.starts_with("> ")) return close_field();
    if (text.starts_with("## ")) return begin_entry(trimmed(text.substr(3)));
    if (text.front() == ' ') return continue_field(trimmed(text));
    return begin_field(text);
  }

  Status close_field() {
    if (field_ == nullptr) return {};
    Entry& entry = entries_.back();
    field_->store(entry, entry.wording[static_cast<size_t>(language_)], text_);
    field_ = nullptr;
    return {};
  }

  std::vector<Entry> take() { return std::move(entries_); }

 private:
  Error wrong(const std::string& what) const {
    return {Code::kInvalid, fmt::format("{} ({}), line {}: {}", subject_,
                                        language_ == Language::kEnglish ? "English" : "Chinese", number_, what)};
  }

  Status begin_entry(std::string_view id) {
    RIDGE_TRY(close_field());
    if (!ids_.emplace(id).second) return wrong(fmt::format("the id '{}' is given twice", id));
    entries_.push_back({std::string(id), subject_, {}, {}, {}, {}, {}});
    seen_.clear();
    return {};
  }

  Status begin_field(std::string_view line) {
    RIDGE_TRY(close_field());
    const std::string_view name = line.substr(0, line.find(':'));
    auto found = std::find_if(std::begin(kFields), std::end(kFields), [&](const Field& f) { return f.name == name; });
    if (found == std::end(kFields) || name.size() == line.size())
      return wrong(fmt::format("expected a field such as 'what: …', found '{}'", line.substr(0, 40)));
    if (entries_.empty()) return wrong("a field before the first '## id'");
    if (found->english_only && language_ != Language::kEnglish)
      return wrong(fmt::format("'{}' does not depend on the language; keep it in the English file", name));
    if (!seen_.emplace(name).second) return wrong(fmt::format("'{}' is given twice", name));
    field_ = found;
    text_ = trimmed(line.substr(name.size() + 1));
    return {};
  }

  Status continue_field(std::string_view text) {
    if (field_ == nullptr) return wrong("text that belongs to no field");
    // A line break inside Chinese text does not count as a blank.
    const bool wide = !text_.empty() && (text_.back() & 0x80) != 0 && (text.front() & 0x80) != 0;
    text_ += (wide ? "" : " ") + std::string(text);
    return {};
  }

  std::string subject_;
  Language language_;
  int number_ = 0;
  std::vector<Entry> entries_;
  std::set<std::string, std::less<>> ids_;
  std::set<std::string, std::less<>> seen_;  // fields of the current entry
  const Field* field_ = nullptr;             // the current field
  std::string text_;
};

}  // namespace

Result<std::vector<Entry>> parse_entries(std::string_view text, std::string_view subject, Language language) {
  Reader reader(subject, language);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    RIDGE_TRY(reader.line(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  RIDGE_TRY(reader.close_field());
  return reader.take();
}

}  // namespace ridge::explain
