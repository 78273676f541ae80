// A file written in pieces beside its target, which it replaces only when complete.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ridge::model {

// Owns the unfinished file and removes it unless it was committed. One thread.
class ReplacementFile {
 public:
  // Refuses a target that exists and is not a regular file. Creates missing parent folders.
  static Result<ReplacementFile> open(const std::string& target);

  ReplacementFile(ReplacementFile&& other) noexcept;
  ReplacementFile& operator=(ReplacementFile&&) = delete;
  ReplacementFile(const ReplacementFile&) = delete;
  ReplacementFile& operator=(const ReplacementFile&) = delete;
  ~ReplacementFile();

  Status append(std::string_view bytes);
  int64_t size() const { return size_; }  // [bytes] appended so far
  Status commit();                        // flushes, closes and renames

 private:
  ReplacementFile(std::string target, std::string temporary, int descriptor);
  Error failed(const char* doing) const;

  std::string target_;
  std::string temporary_;  // empty once committed or moved from
  int descriptor_ = -1;
  int64_t size_ = 0;
};

}  // namespace ridge::model
