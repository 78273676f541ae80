// Reads and writes whole files; errors name the path and the reason.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"

namespace ridge {

constexpr int64_t kLargestFile = int64_t{1} << 30;  // that read_file() takes unless told otherwise [bytes]
constexpr int64_t kAnySize = std::numeric_limits<int64_t>::max();

// Opens for reading. kInvalid: the path is not a file but a folder, a device or a pipe; it never waits for one.
Result<Descriptor> open_regular_file(const std::string& path);
// Errors are those of open_regular_file(); kExhausted: the file is larger than `most_bytes`.
Result<std::string> read_file(const std::string& path, int64_t most_bytes = kLargestFile);
// Tells two contents of a file apart; links are followed. All zero: it cannot be seen.
struct FileStamp {
  uint64_t device = 0, inode = 0;
  int64_t size_bytes = 0, changed_ns = 0;
  bool operator==(const FileStamp&) const = default;
};
FileStamp stamp_of(const std::string& path);
// Reads a file that may be missing: "" if it cannot be read.
std::string text_or_empty(const std::string& path);
// Before work whose result is written: checks that the folder, or the nearest one above it, can be written.
Status check_writable_folder(const std::string& folder);
// The same for a file, which may exist, and which write_file_atomically() would take.
Status check_writable_file(const std::string& path);
// The file that a new one at `path` would replace: links are followed. kInvalid: a device, a pipe or a folder.
Result<std::string> replaced_file(const std::string& path);
// Writes beside replaced_file(), syncs and renames: readers see the old or the new content, never a part. Creates
// missing parent folders.
Status write_file_atomically(const std::string& path, std::string_view content);

}  // namespace ridge
