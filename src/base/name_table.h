// Enumerations that have names at the command line and in JSON: tables of pairs {key, name}, read in both directions.
// An enumeration with a function names_of(Key) can be a field (base/fields.h).
#pragma once

#include <cassert>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace ridge {

template <typename Key>
using NameTable = std::span<const std::pair<Key, std::string_view>>;

// The name of `key`, which is in the table.
template <typename Table, typename Key>
std::string_view name_of(const Table& table, Key key) {
  for (const auto& [candidate, name] : table)
    if (candidate == key) return name;
  assert(false);
  return {};
}

// The key that has `name`, or an error that lists the names; `what` names their kind ("precision"). Keys that
// `counts` refuses are not known.
template <typename Key, typename Table>
Result<Key> from_name(const Table& table, std::string_view name, std::string_view what, bool (*counts)(Key) = nullptr) {
  std::string known;
  for (const auto& [key, candidate] : table) {
    if (counts != nullptr && !counts(key)) continue;
    if (candidate == name) return key;
    known += (known.empty() ? "" : ", ") + std::string(candidate);
  }
  return Error{Code::kInvalid, "unknown " + std::string(what) + " '" + std::string(name) + "'; known: " + known};
}

}  // namespace ridge
