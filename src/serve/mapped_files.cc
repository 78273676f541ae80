#include "serve/mapped_files.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/file.h"

namespace ridge::serve {
namespace {

struct MappedRange {
  std::span<std::byte> memory;
  int protection = PROT_NONE;
  std::string source;  // offset, device, inode: equal for mappings of the same part of a file
};

// A line of /proc/self/maps: "begin-end rwxp offset device inode path". Empty: not of `files`, or unreadable.
MappedRange parse_mapping(const std::string& line, const std::set<std::string>& files) {
  std::istringstream fields(line);
  std::string range, rights, offset, device, inode, path;
  fields >> range >> rights >> offset >> device >> inode >> std::ws;
  std::getline(fields, path);
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  if (!files.contains(path) || rights.size() != 4 || rights[0] != 'r') return {};
  uintptr_t begin = 0, end = 0;
  const size_t dash = range.find('-');
  if (dash == std::string::npos) return {};
  std::from_chars(range.data(), range.data() + dash, begin, 16);
  std::from_chars(range.data() + dash + 1, range.data() + range.size(), end, 16);
  if (end <= begin) return {};
  const int protection = PROT_READ | (rights[1] == 'w' ? PROT_WRITE : 0);
  return {{reinterpret_cast<std::byte*>(begin), end - begin}, protection, offset + " " + device + " " + inode};
}

// Names from the kernel, links followed. Not libraries, whose code and variables are not an engine's data.
std::set<std::string> data_files(const std::string& folder) {
  namespace fs = std::filesystem;
  std::set<std::string> files;
  std::error_code error, ignored;
  if (fs::is_regular_file(folder, error)) files.insert(fs::canonical(folder, ignored).string());
  for (fs::recursive_directory_iterator entries(folder, error); !error && entries != fs::recursive_directory_iterator();
       entries.increment(error))
    if (entries->is_regular_file(ignored) && entries->path().filename().string().find(".so") == std::string::npos)
      files.insert(fs::canonical(entries->path(), ignored).string());
  return files;
}

std::vector<MappedRange> mappings_below(const std::string& folder) {
  const std::set<std::string> files = data_files(folder);
  std::vector<MappedRange> ranges;
  std::istringstream maps(text_or_empty("/proc/self/maps"));
  for (std::string line; std::getline(maps, line);)
    if (MappedRange range = parse_mapping(line, files); !range.memory.empty()) ranges.push_back(std::move(range));
  return ranges;
}

// Memory with the content of a range.
struct Copy {
  Descriptor file;
  const MappedRange* of = nullptr;
};

Error no_memory(size_t bytes) {
  return {Code::kExhausted,
          fmt::format("keep {} bytes of the model's files in memory: {}", bytes, std::strerror(errno))};
}

// Pages that a file no longer has are no fault for write(2), but the end of what it takes; they stay zeros.
Result<Copy> copy_of_range(const MappedRange& range) {
  Copy copy{Descriptor(memfd_create("model", MFD_CLOEXEC)), &range};
  if (!copy.file || ftruncate(copy.file.number(), static_cast<off_t>(range.memory.size())) != 0)
    return no_memory(range.memory.size());
  for (std::span<const std::byte> rest = range.memory; !rest.empty();) {
    const ssize_t written = write(copy.file.number(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EFAULT) break;
    if (written <= 0) return no_memory(range.memory.size());
    rest = rest.subspan(static_cast<size_t>(written));
  }
  return copy;
}

// The copy of a range with the same bytes: an engine may have written into its private pages.
const Copy* find_equal(const std::vector<Copy>& copies, const MappedRange& range) {
  for (const Copy& copy : copies)
    if (copy.of->source == range.source && copy.of->memory.size() == range.memory.size() &&
        std::memcmp(copy.of->memory.data(), range.memory.data(), range.memory.size()) == 0)
      return &copy;
  return nullptr;
}

}  // namespace

Status keep_mapped_files(const std::string& folder) {
  const std::vector<MappedRange> ranges = mappings_below(folder);
  std::vector<Copy> copies;
  for (const MappedRange& range : ranges) {
    const Copy* copy = find_equal(copies, range);
    if (copy == nullptr) {
      RIDGE_ASSIGN(Copy fresh, copy_of_range(range));
      copy = &copies.emplace_back(std::move(fresh));
    }
    // At once for the threads that read it.
    if (mmap(range.memory.data(), range.memory.size(), range.protection, MAP_PRIVATE | MAP_FIXED, copy->file.number(),
             0) == MAP_FAILED)
      return no_memory(range.memory.size());
  }
  return {};
}

}  // namespace ridge::serve
