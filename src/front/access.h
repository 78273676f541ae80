// Which calls a client may make, by its key. One policy for all protocols: each names its groups by these constants.
//
// A file has one key a line, behind the groups that it opens:
//
//   # comment
//   inference           3f6c0e1b9a7d4e52
//   inference,metrics   b1946ac92492d234   name=shop   the access log names it so
//   control             aGVsbG8gd29ybGQgb2Y
//   metrics             *                      these calls need no key
//
// Only digests of keys are kept, and no message holds a part of a key.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "front/reloaded.h"

namespace ridge::front {

using Groups = uint8_t;  // a set
constexpr Groups kInference = 1, kControl = 2, kMetrics = 4;

// The groups of calls: a key of any of them suffices.
constexpr Groups kHealthCalls = 0;                          // whoever asks: probes have no keys
constexpr Groups kPageCalls = 0;                            // the front page holds nothing of the server, its calls do
constexpr Groups kInferenceCalls = kInference;              // tensors go in or out
constexpr Groups kDescribingCalls = kInference | kControl;  // metadata, configurations, schemas
constexpr Groups kStatisticsCalls = kInference | kControl | kMetrics;  // of models
constexpr Groups kMetricsCalls = kMetrics;                             // Prometheus' text
constexpr Groups kOperatorCalls = kControl;  // repository index, load, unload; log and trace settings; shared memory

// The fields of a request: "Authorization: Bearer KEY" or "x-api-key: KEY". Empty: not there.
struct Credentials {
  std::string_view authorization = {}, api_key = {};
};

// Counts calls with tensors or texts by the name of their key. Thread-safe.
class KeyUse {
 public:
  struct Counts {
    uint64_t calls = 0, prompt_tokens = 0, generated_tokens = 0;
  };
  // Keys without a name count together, and so do all after the first 200 names.
  void add(const std::string& name, const Counts& more);
  std::map<std::string, Counts> counts() const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, Counts> counts_ RIDGE_GUARDED_BY(mutex_);
};

// Immutable, but for what its keys are used for.
class KeyTable {
 public:
  // Errors name the line. Allowed calls with tensors or texts are counted in `use`.
  static Result<KeyTable> parse(std::string_view text, std::shared_ptr<KeyUse> use = std::make_shared<KeyUse>());
  // kUnauthenticated: no key, or one that is not in the table. kForbidden: a key of other groups.
  Status check(Groups groups, const Credentials& credentials) const;
  KeyUse& use() const { return *use_; }
  // Name of the key of these, for the access log; empty: no key, or one outside the table.
  std::string name_of(const Credentials& credentials) const;

 private:
  using Digest = std::array<unsigned char, 32>;  // SHA-256
  struct Row {
    Digest digest;
    Groups groups;
    std::string name;
  };
  Status add_line(std::string_view line);

  std::optional<Row> row_of(std::string_view key) const;

  std::vector<Row> rows_;
  Groups without_key_ = 0;
  std::shared_ptr<KeyUse> use_;
};

using Keys = Reloaded<KeyTable>;
Result<std::shared_ptr<Keys>> open_keys(const std::string& file);

// Counts a call that was allowed. Null: nothing is counted.
inline void count_tokens(const KeyTable* keys, const std::string& name, int64_t prompt, int64_t generated) {
  if (keys != nullptr)
    keys->use().add(
        name, {.prompt_tokens = static_cast<uint64_t>(prompt), .generated_tokens = static_cast<uint64_t>(generated)});
}

// Without keys every call is allowed.
inline Status check_access(const Keys* keys, Groups groups, const Credentials& credentials) {
  return keys == nullptr || groups == kHealthCalls ? Status() : keys->current()->check(groups, credentials);
}

}  // namespace ridge::front
