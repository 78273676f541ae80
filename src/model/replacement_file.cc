#include "model/replacement_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/file.h"

namespace ridge::model {

Result<ReplacementFile> ReplacementFile::open(const std::string& path) {
  RIDGE_ASSIGN(const std::string target, replaced_file(path));
  namespace fs = std::filesystem;
  std::error_code failure;
  const fs::path parent = fs::path(target).parent_path();
  if (!parent.empty()) fs::create_directories(parent, failure);
  if (failure) return Error{Code::kFailed, "create folder " + parent.string() + ": " + failure.message()};
  std::string temporary = target + ".tmp" + std::to_string(getpid());
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return Error{Code::kFailed, "write " + target + ": " + std::strerror(errno)};
  return ReplacementFile(target, std::move(temporary), descriptor);
}

ReplacementFile::ReplacementFile(std::string target, std::string temporary, int descriptor)
    : target_(std::move(target)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

ReplacementFile::ReplacementFile(ReplacementFile&& other) noexcept
    : target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

ReplacementFile::~ReplacementFile() {
  if (descriptor_ >= 0) close(descriptor_);
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
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("write");
    size_ += written;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Status ReplacementFile::commit() {
  // No fsync: a model can be written again, and syncing gigabytes would take longer.
  if (close(std::exchange(descriptor_, -1)) != 0) return failed("close");
  if (rename(temporary_.c_str(), target_.c_str()) != 0) return failed("rename to");
  temporary_.clear();
  return {};
}

}  // namespace ridge::model
