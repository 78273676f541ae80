#include "base/replacement_file.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/file.h"

namespace ridge {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDescriptors = "/proc/self/fd";  // by which a file without a name is given one

// The process in PREFIX and what follows its number; 0: the name is another's.
pid_t process_of(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return 0;
  const std::string_view rest = name.substr(prefix.size());
  pid_t process = 0;
  const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), process);
  const bool ours = failure == std::errc() && end != rest.data() + rest.size() && *end == '-';
  return ours && process > 0 ? process : 0;
}

bool has_ended(pid_t process) { return process > 0 && kill(process, 0) != 0 && errno == ESRCH; }

fs::path folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? "." : parent;
}

}  // namespace

std::string temporary_name(const std::string& prefix) {
  const std::string begin = fs::path(prefix).filename().string();
  std::error_code failure, ignored;
  for (fs::directory_iterator at(folder_of(prefix), failure), end; !failure && at != end; at.increment(failure))
    if (has_ended(process_of(at->path().filename().string(), begin))) fs::remove_all(at->path(), ignored);
  static std::atomic<unsigned> sequence = 0;
  return prefix + std::to_string(getpid()) + "-" + std::to_string(sequence++);
}

Result<ReplacementFile> ReplacementFile::open(const std::string& path) {
  RIDGE_ASSIGN(const std::string target, replaced_file(path));
  std::error_code failure;
  const fs::path parent = folder_of(target);
  fs::create_directories(parent, failure);
  if (failure) return Error{Code::kFailed, "create folder " + parent.string() + ": " + failure.message()};
  if (access(kDescriptors, X_OK) == 0) {
    Descriptor unnamed(::open(parent.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666));
    if (unnamed) return ReplacementFile(target, "", std::move(unnamed));
  }
  std::string temporary = temporary_name(target + ".tmp");
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) return Error{Code::kFailed, "write " + target + ": " + std::strerror(errno)};
  return ReplacementFile(target, std::move(temporary), std::move(file));
}

ReplacementFile::ReplacementFile(std::string target, std::string temporary, Descriptor file)
    : target_(std::move(target)), temporary_(std::move(temporary)), file_(std::move(file)) {}

ReplacementFile::ReplacementFile(ReplacementFile&& other) noexcept
    : target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)),
      size_(other.size_) {}

ReplacementFile::~ReplacementFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Error ReplacementFile::failed(const char* doing) const {
  const int number = errno;
  const bool full = number == ENOSPC || number == EDQUOT || number == EFBIG;
  return {full ? Code::kExhausted : Code::kFailed, std::string(doing) + " " + target_ + ": " + std::strerror(number) +
                                                       " after " + std::to_string(size_) +
                                                       " bytes; nothing was left behind"};
}

Status ReplacementFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.number(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("write");
    size_ += written;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Status ReplacementFile::sync() { return fsync(file_.number()) == 0 ? Status() : failed("sync"); }

Status ReplacementFile::commit() {
  const auto name_it = [&](const std::string& name) {
    const std::string self = std::string(kDescriptors) + "/" + std::to_string(file_.number());
    return linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  if (temporary_.empty()) {
    if (name_it(target_)) return {};
    if (errno != EEXIST) return failed("name");
    std::string temporary = temporary_name(target_ + ".tmp");
    if (!name_it(temporary)) return failed("name");
    temporary_ = std::move(temporary);
  }
  if (rename(temporary_.c_str(), target_.c_str()) != 0) return failed("rename to");
  temporary_.clear();
  return {};
}

}  // namespace ridge
