// Look-up: from the user's text to the entries that explain it.
//
// The first rule with a hit decides, in this order: an exact name (of a code, a term, an option); a family and
// a number; codes and texts named inside a message, the most specific first; the longest names of
// terms inside a question; nothing, with the nearest names. Pure; work is linear in the query, of which at most
// kMostText is read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "explain/book.h"

namespace ridge::explain {

inline constexpr size_t kMostText = size_t{1} << 20;  // [bytes]
inline constexpr size_t kMostHits = 12;

enum class HitKind { kCode, kEntry, kFlag };

struct Hit {
  HitKind kind = HitKind::kEntry;
  size_t position = 0;  // in Book::codes, entries or flags
  std::string matched;  // the part of the query that it explains
};

struct Match {
  std::vector<Hit> hits;    // most specific first, at most kMostHits
  bool words_only = false;  // of a long text only single words are known: its hits may not be what it is about
  size_t left_out = 0;      // hits beyond that
  size_t unread = 0;        // bytes at the query's beginning that were not read, because it is longer than kMostText
  std::vector<std::string> near;  // suggestions when there are no hits
};

Match find(const Book& book, std::string_view query);

}  // namespace ridge::explain
