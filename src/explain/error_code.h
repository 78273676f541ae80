// Numbered errors of CUDA (driver and runtime), NVML, XID and NCCL, from data/error_codes.csv, with their Chinese
// wording and with the sentences that libraries print for them. Immutable values.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "explain/entry.h"

namespace ridge::explain {

// The numbered kinds of errors that are explained.
constexpr std::array<std::string_view, 4> kCodeFamilies = {"cuda", "nvml", "xid", "nccl"};

struct CodeWording {
  std::string cause;   // empty: there is none in this language
  std::string action;  // first step
};

struct ErrorCode {
  std::string family;  // cuda, nvml, xid, nccl
  int number = 0;
  std::string name;   // CUDA_ERROR_OUT_OF_MEMORY
  std::string alias;  // the runtime's name, cudaErrorMemoryAllocation; may be empty
  std::string kind;   // app, env, hw, build, ok: the location of the cause
  std::array<CodeWording, kLanguages> wording;
  std::vector<std::string> texts;  // sentences that libraries print for it
  bool only_label = false;         // the vendor documents a short label and nothing more
  std::string source;

  const CodeWording& in(Language language) const { return wording[static_cast<size_t>(language)]; }
};

struct CodeTables {
  std::string_view codes;    // data/error_codes.csv; rows of other domains (nccl-symptom, tool) are left to the entries
  std::string_view chinese;  // data/explain/zh/codes.csv: domain, code, cause, action
  std::string_view texts;    // data/explain/code_texts.csv: domain, code, text
};

// Errors: a table that cannot be read, a column that is missing, a Chinese row or a text of a code that does not exist.
Result<std::vector<ErrorCode>> parse_codes(const CodeTables& tables);

}  // namespace ridge::explain
