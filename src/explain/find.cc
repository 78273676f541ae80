#include "explain/find.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/letter_case.h"
#include "base/nearest.h"
#include "explain/pattern.h"
#include "explain/plain.h"
#include "explain/scan.h"

namespace ridge::explain {
namespace {

constexpr size_t kLongestName = 120;      // [bytes] names are shorter; longer queries are messages
constexpr size_t kLongestQuestion = 400;  // [bytes] longer texts contain words of terms by chance
constexpr int kMostWords = 6;             // in a term's name

// Codes that only report another failure: their neighbours are the better answer.
bool is_generic(const ErrorCode& code) {
  return code.number == 999 || (code.family == "nccl" && code.number >= 1 && code.number <= 3) || code.kind == "ok";
}

bool is_main_name(const Entry& entry, const std::string& name) {
  return plain(entry.id) == name || plain(entry.in(Language::kEnglish).name) == name ||
         plain(entry.in(Language::kChinese).name) == name;
}

// "--batch" means the option; "batch" means it only if nothing else has that name.
std::vector<Hit> by_name(const Book& book, std::string_view query) {
  std::vector<Hit> hits;
  if (query.size() > kLongestName) return hits;
  const std::string name = plain(query);
  if (name.empty()) return hits;
  auto take = [&](const auto& names, HitKind kind) {
    auto found = names.find(name);
    if (found == names.end()) return;
    for (size_t position : found->second) hits.push_back({kind, position, std::string(query)});
  };
  auto about_options = [&](const Hit& hit) {
    return hit.kind == HitKind::kFlag ||
           (hit.kind == HitKind::kEntry && book.entries[hit.position].subject == "options");
  };
  take(book.flag_names, HitKind::kFlag);
  take(book.code_names, HitKind::kCode);
  take(book.entry_names, HitKind::kEntry);
  std::stable_partition(hits.begin(), hits.end(), [&](const Hit& hit) {
    return hit.kind != HitKind::kEntry || is_main_name(book.entries[hit.position], name);
  });
  const bool wanted = query.starts_with('-') && std::any_of(hits.begin(), hits.end(), about_options);
  if (!wanted && std::all_of(hits.begin(), hits.end(), about_options)) return hits;
  std::erase_if(hits, [&](const Hit& hit) { return about_options(hit) != wanted; });
  return hits;
}

// `text` is the source of the codes, in its original case.
std::vector<Hit> hits_of(const std::vector<CodeMention>& codes, std::string_view text) {
  std::vector<Hit> hits;
  for (const CodeMention& seen : codes)
    hits.push_back({HitKind::kCode, seen.code, std::string(text.substr(seen.at, seen.matched.size()))});
  return hits;
}

// Entries whose message texts occur, the longest text first.
std::vector<Hit> by_message(const Book& book, std::string_view text, std::string_view lower) {
  struct Match {
    size_t literal;
    Hit hit;
  };
  std::vector<Match> matches;
  for (size_t i = 0; i < book.entries.size(); ++i) {
    std::optional<PatternMatch> best;
    for (const std::string& pattern : book.entries[i].match) {
      auto found = find_pattern(lower, pattern);
      if (found && (!best || found->literal > best->literal)) best = found;
    }
    if (best)
      matches.push_back({best->literal, {HitKind::kEntry, i, std::string(text.substr(best->at, best->text.size()))}});
  }
  std::stable_sort(matches.begin(), matches.end(),
                   [](const Match& a, const Match& b) { return a.literal > b.literal; });
  std::vector<Hit> hits;
  for (Match& match : matches) hits.push_back(std::move(match.hit));
  return hits;
}

bool deepens(const Entry& entry, const ErrorCode& code) {
  const std::string name = code.family + " " + std::to_string(code.number);
  return std::find(entry.codes.begin(), entry.codes.end(), name) != entry.codes.end();
}

// Everything inside a message: specific codes, then texts (unless included by a code), then generic codes.
std::vector<Hit> inside_message(const Book& book, std::string_view query) {
  const std::string text = message_text(query);
  const std::string lower = lower_case(text);
  std::vector<Hit> codes = hits_of(codes_in(book, lower), text);
  std::vector<Hit> messages = by_message(book, text, lower);
  auto generic = std::stable_partition(codes.begin(), codes.end(),
                                       [&](const Hit& hit) { return !is_generic(book.codes[hit.position]); });
  std::vector<Hit> hits(codes.begin(), generic);
  for (Hit& message : messages) {
    const Entry& entry = book.entries[message.position];
    const bool covered =
        std::any_of(codes.begin(), generic, [&](const Hit& hit) { return deepens(entry, book.codes[hit.position]); });
    if (!covered) hits.push_back(std::move(message));
  }
  hits.insert(hits.end(), generic, codes.end());
  return hits;
}

bool is_wide(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; });
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlanks = " \t\r\n";
  for (size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

// Words that begin and end no name: without this, "what is a …" would match ISA.
bool is_small_word(std::string_view word) {
  constexpr std::string_view kSmall[] = {"a",   "an", "the", "is", "are", "of",  "in", "on", "to",  "what",
                                         "how", "my", "do",  "it", "why", "and", "or", "no", "for", "with"};
  const std::string lower = plain(word);
  return std::find(std::begin(kSmall), std::end(kSmall), lower) != std::end(kSmall);
}

// Names of terms inside a question, "what is a KV cache": runs of words from the longest down, each word once.
std::vector<Hit> inside_question(const Book& book, std::string_view query) {
  std::vector<Hit> hits;
  if (query.size() > kLongestQuestion) return hits;
  std::set<size_t> taken;
  auto take = [&](const std::vector<size_t>& positions, std::string_view matched) {
    for (size_t position : positions)
      if (taken.insert(position).second) hits.push_back({HitKind::kEntry, position, std::string(matched)});
  };
  const std::vector<std::string_view> words = words_of(query);
  std::vector<bool> used(words.size(), false);
  for (size_t length = std::min<size_t>(kMostWords, words.size()); length > 0; --length) {
    for (size_t first = 0; first + length <= words.size(); ++first) {
      if (std::any_of(used.begin() + static_cast<long>(first), used.begin() + static_cast<long>(first + length),
                      [](bool b) { return b; }))
        continue;
      if (is_small_word(words[first]) || is_small_word(words[first + length - 1])) continue;
      const std::string_view run(words[first].data(),
                                 static_cast<size_t>(words[first + length - 1].end() - words[first].data()));
      auto found = book.entry_names.find(plain(run));
      if (found == book.entry_names.end()) continue;
      take(found->second, run);
      std::fill_n(used.begin() + static_cast<long>(first), length, true);
    }
  }
  return hits;
}

// Chinese has no blanks between words: names with characters beyond ASCII are searched unsplit, the longest first.
std::vector<Hit> inside_chinese(const Book& book, std::string_view query) {
  std::vector<Hit> hits;
  if (query.size() > kLongestQuestion || !is_wide(query)) return hits;
  const std::string text = plain(query);
  std::vector<std::pair<std::string_view, const std::vector<size_t>*>> found;
  for (const auto& [name, positions] : book.entry_names)
    if (is_wide(name) && text.find(name) != std::string::npos) found.emplace_back(name, &positions);
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.first.size() != b.first.size() ? a.first.size() > b.first.size() : a.first < b.first;
  });
  std::vector<std::string_view> longer;
  for (const auto& [name, positions] : found) {
    const bool part = std::any_of(longer.begin(), longer.end(), [&name = name](std::string_view other) {
      return other.find(name) != std::string_view::npos;
    });
    if (part) continue;
    longer.push_back(name);
    for (size_t position : *positions) hits.push_back({HitKind::kEntry, position, std::string(name)});
  }
  return hits;
}

// True if the text has more words than a question, and none of its hits is of two.
bool only_words(std::string_view query, const std::vector<Hit>& hits) {
  constexpr std::ptrdiff_t kMost = 5;
  const std::vector<std::string_view> words = words_of(query);
  return std::ranges::count_if(words, [](std::string_view word) { return !is_small_word(word); }) > kMost &&
         std::ranges::all_of(hits, [](const Hit& hit) { return hit.matched.find(' ') == std::string::npos; });
}

std::vector<Hit> look_up(const Book& book, std::string_view query, bool& words_only) {
  std::vector<Hit> hits = by_name(book, query);
  if (query.size() <= kLongestName) {  // "137" is an exit status and an XID, "cuda 12" a version and a code
    const std::vector<Hit> numbered = hits_of(codes_by_number(book, query), query);
    hits.insert(hits.end(), numbered.begin(), numbered.end());
  }
  if (hits.empty()) hits = inside_message(book, query);
  if (hits.empty()) {
    hits = inside_question(book, query);
    words_only = !hits.empty() && only_words(query, hits);
  }
  if (hits.empty()) hits = inside_chinese(book, query);
  return hits;
}

// Names in the script of the question.
std::vector<std::string> near_names(const Book& book, std::string_view query) {
  constexpr size_t kMost = 5;
  std::set<std::string> names;
  for (const std::string& name : book.names)
    if (is_wide(query) || !is_wide(name)) names.insert(name);
  return nearest(query, std::vector<std::string>(names.begin(), names.end()), kMost);
}

std::string_view unquoted(std::string_view text) {
  constexpr std::string_view kOutside = " \t\r\n\"'`";
  const size_t from = text.find_first_not_of(kOutside);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kOutside) - from + 1);
}

}  // namespace

Match find(const Book& book, std::string_view query) {
  Match found;
  if (query.size() > kMostText) {
    found.unread = query.size() - kMostText;
    query.remove_prefix(found.unread);
  }
  query = unquoted(query);
  found.hits = look_up(book, query, found.words_only);
  if (found.hits.size() > kMostHits) {
    found.left_out = found.hits.size() - kMostHits;
    found.hits.resize(kMostHits);
  }
  if (found.hits.empty() && query.size() <= kLongestName) found.near = near_names(book, query);
  return found;
}

}  // namespace ridge::explain
