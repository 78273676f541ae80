#include "front/access.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <optional>

#include "base/file.h"
#include "base/letter_case.h"

namespace ridge::front {
namespace {

constexpr int64_t kLargestFileOfKeys = 1 << 20;  // [bytes]
constexpr size_t kShortestKey = 16;              // [characters]; shorter ones can be guessed
constexpr size_t kLongestKey = 4096;
constexpr size_t kLongestKeyName = 64, kMostKeyNames = 200;
constexpr std::string_view kNameField = "name=";

struct GroupName {
  std::string_view name;
  Groups groups;
};
constexpr GroupName kGroupNames[] = {
    {"inference", kInference}, {"control", kControl}, {"metrics", kMetrics}, {"all", kInference | kControl | kMetrics}};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Takes the text before the first `mark` off `text`, with the mark.
std::string_view take_until(std::string_view& text, char mark) {
  const size_t end = std::min(text.find(mark), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

// "inference,metrics"; 0: it has another name. Names are not repeated in errors: a key may stand in their place.
Groups groups_of(std::string_view names) {
  Groups groups = 0;
  while (!names.empty()) {
    const std::string_view name = take_until(names, ',');
    const auto* row = std::find_if(std::begin(kGroupNames), std::end(kGroupNames),
                                   [&](const GroupName& each) { return each.name == name; });
    if (row == std::end(kGroupNames)) return 0;
    groups |= row->groups;
  }
  return groups;
}

std::string names_of(Groups groups) {
  std::string names;
  for (const GroupName& row : kGroupNames)
    if (row.name != "all" && (row.groups & groups) != 0) names += (names.empty() ? "" : " or ") + std::string(row.name);
  return names;
}

// The key of a request; absent: it has none.
std::optional<std::string_view> key_of(const Credentials& credentials) {
  constexpr std::string_view kScheme = "bearer ";
  const std::string_view field = credentials.authorization;
  if (field.size() > kScheme.size() && lower_case(field.substr(0, kScheme.size())) == kScheme)
    return trimmed(field.substr(kScheme.size()));
  if (!credentials.api_key.empty()) return trimmed(credentials.api_key);
  return std::nullopt;
}

}  // namespace

Status KeyTable::add_line(std::string_view line) {
  const auto gap = std::find_if(line.begin(), line.end(), is_space);
  const Groups groups = groups_of(line.substr(0, static_cast<size_t>(gap - line.begin())));
  std::string_view key = trimmed(line.substr(static_cast<size_t>(gap - line.begin())));
  if (groups == 0)
    return invalid(
        "the line does not begin with groups; write e.g. 'inference,metrics  KEY', of inference, control, "
        "metrics, all");
  if (key == "*") {
    without_key_ |= groups;
    return {};
  }
  std::string_view name;
  if (const size_t last = key.find_last_of(" \t"); last != std::string_view::npos)
    if (const std::string_view word = key.substr(last + 1); word.starts_with(kNameField)) {
      name = word.substr(kNameField.size());
      key = trimmed(key.substr(0, last));
      const bool printable = std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 127; });
      if (name.empty() || name.size() > kLongestKeyName || !printable)
        return invalid("the key's name behind name= should have 1 to " + std::to_string(kLongestKeyName) +
                       " characters of ASCII, no spaces");
    }
  if (key.size() < kShortestKey || key.size() > kLongestKey)
    return invalid("the key has " + std::to_string(key.size()) + " characters, expected " +
                   std::to_string(kShortestKey) + " to " + std::to_string(kLongestKey) +
                   "; make one: openssl rand -hex 32");
  if (!std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < 127; }))
    return invalid("the key has a space or a character that is not ASCII");
  Row& row = rows_.emplace_back();
  row.groups = groups;
  row.name = name;
  if ((groups & kInference) != 0) use_->add(row.name, {});
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), row.digest.data());
  return {};
}

void KeyUse::add(const std::string& name, const Counts& more) {
  MutexLock lock(mutex_);
  const bool is_new = !name.empty() && !counts_.contains(name);
  Counts& counts = counts_[name.empty() ? "unnamed" : is_new && counts_.size() >= kMostKeyNames ? "others" : name];
  counts.calls += more.calls;
  counts.prompt_tokens += more.prompt_tokens;
  counts.generated_tokens += more.generated_tokens;
}

std::map<std::string, KeyUse::Counts> KeyUse::counts() const {
  MutexLock lock(mutex_);
  return counts_;
}

Result<KeyTable> KeyTable::parse(std::string_view text, std::shared_ptr<KeyUse> use) {
  KeyTable table;
  table.use_ = std::move(use);
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = trimmed(take_until(text, '\n'));
    if (line.empty() || line.front() == '#') continue;
    if (Status added = table.add_line(line); !added)
      return wrap(std::move(added).error(), "line " + std::to_string(number));
  }
  if (table.rows_.empty()) return invalid("it holds no key; write e.g. 'all  KEY', with openssl rand -hex 32 for KEY");
  return table;
}

// Looks at all of them: the time says nothing about which. A key that has several rows has the groups of them all, and
// the first one's name.
std::optional<KeyTable::Row> KeyTable::row_of(std::string_view key) const {
  std::optional<Row> found;
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  for (const Row& row : rows_) {
    if (CRYPTO_memcmp(digest.data(), row.digest.data(), digest.size()) != 0) continue;
    if (found)
      found->groups |= row.groups;
    else
      found = row;
  }
  return found;
}

Status KeyTable::check(Groups groups, const Credentials& credentials) const {
  const std::optional<std::string_view> key = key_of(credentials);
  const std::optional<Row> row = key ? row_of(*key) : std::nullopt;
  const bool allowed = ((without_key_ | (row ? row->groups : 0)) & groups) != 0;
  if (allowed && groups == kInferenceCalls) use_->add(row ? row->name : "", {.calls = 1});
  if (allowed) return {};
  if (!key)
    return Error{Code::kUnauthenticated, "this call needs a key of the group " + names_of(groups) +
                                             ": send 'Authorization: Bearer KEY' or 'x-api-key: KEY'"};
  if (!row) return Error{Code::kUnauthenticated, "the server does not know this key"};
  return Error{Code::kForbidden, "this key does not open this call, which needs one of the group " + names_of(groups)};
}

std::string KeyTable::name_of(const Credentials& credentials) const {
  const std::optional<std::string_view> key = key_of(credentials);
  const std::optional<Row> row = key ? row_of(*key) : std::nullopt;
  return row ? row->name : "";
}

Result<std::shared_ptr<Keys>> open_keys(const std::string& file) {
  auto keys = Keys::open("the keys (--keys)", {file}, [file, use = std::make_shared<KeyUse>()]() -> Result<KeyTable> {
    Result<std::string> text = read_file(file, kLargestFileOfKeys);
    if (!text) return wrap(std::move(text).error(), "--keys");
    Result<KeyTable> table = KeyTable::parse(*text, use);
    if (!table) return wrap(std::move(table).error(), "--keys '" + file + "'");
    return table;
  });
  if (keys) warn_of_readers("the file of keys (--keys)", file);
  return keys;
}

}  // namespace ridge::front
