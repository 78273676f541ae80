// Error codes named inside a pasted message: by identifier (CUDA_ERROR_…, cudaError…), by family and number ("Xid
// (PCI:…): 79", "CUDA error 700", "NCCL failure 3"), and by the sentences that libraries print.
//
// Work is linear in the text: one pass over its words, and one search per sentence. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "explain/book.h"

namespace ridge::explain {

struct CodeMention {
  size_t code = 0;      // position in Book::codes
  size_t at = 0;        // where in the text
  std::string matched;  // the words that named it
};

// `text` in lower case. Each code once, in the order of the text. A version ("CUDA 12.8") does not count as a code: a
// number counts only after a word such as "error", for XIDs also after a PCI address.
std::vector<CodeMention> codes_in(const Book& book, std::string_view text);

// A query that is nothing but a family and a number ("cuda 700", "XID79", "nccl:3") or a number alone (all families).
std::vector<CodeMention> codes_by_number(const Book& book, std::string_view query);

}  // namespace ridge::explain
