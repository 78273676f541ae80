// Which calls a client may make, by its key. One policy for all protocols: each names the groups of its calls by the constants below.
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
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

// Immutable.
class KeyTable {
 public:
  // Errors name the line.
  static Result<KeyTable> parse(std::string_view text);
  // kUnauthenticated: no key, or one that is not in the table. kForbidden: a key of other groups.
  Status check(Groups groups, const Credentials& credentials) const;
  // Of the key of these, for the access log; empty: it has none, or is not in the table.
  std::string name_of(const Credentials& credentials) const;

 private:
  using Digest = std::array<unsigned char, 32>;  // SHA-256
  struct Row {
    Digest digest;
    Groups groups;
    std::string name;
  };
  Status add_line(std::string_view line);

  std::vector<Row> rows_;
  Groups without_key_ = 0;
};

using Keys = Reloaded<KeyTable>;
Result<std::shared_ptr<Keys>> open_keys(const std::string& file);

// Without keys every call is allowed.
inline Status check_access(const Keys* keys, Groups groups, const Credentials& credentials) {
  return keys == nullptr || groups == kHealthCalls ? Status() : keys->current()->check(groups, credentials);
}

}  // namespace ridge::front
