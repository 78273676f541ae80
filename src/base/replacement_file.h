// A file written in pieces that replaces its target only when complete: until then it has no name, where the file
// system can do that, so that a killed process leaves nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"

namespace ridge {

// PREFIX, this process's number and another one: a name for what is unfinished. Removes what begins so and belongs to a
// process that has ended, which was killed.
std::string temporary_name(const std::string& prefix);

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
  Status sync();                          // to the disk
  Status commit();                        // closes it under the target's name

 private:
  ReplacementFile(std::string target, std::string temporary, Descriptor file);
  Error failed(const char* doing) const;

  std::string target_;
  std::string temporary_;  // empty: it has no name, was committed or moved from
  Descriptor file_;
  int64_t size_ = 0;
};

}  // namespace ridge
