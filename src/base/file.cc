#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/descriptor.h"
#include "base/replacement_file.h"
#include "base/units.h"

namespace ridge {
namespace {

Error system_error(const char* doing, const std::string& path) {
  int number = errno;
  return {number == ENOENT ? Code::kNotFound : Code::kFailed,
          std::string(doing) + " " + path + ": " + std::strerror(number)};
}

}  // namespace

Result<Descriptor> open_regular_file(const std::string& path) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file && errno != ENXIO) return system_error("read", path);  // ENXIO: a socket
  struct stat status {};
  if (file && fstat(file.number(), &status) != 0) return system_error("read", path);
  if (file && S_ISREG(status.st_mode)) return file;
  return invalid("read " + path + ": it is not a regular file");
}

Result<std::string> read_file(const std::string& path, int64_t most_bytes) {
  RIDGE_ASSIGN(const Descriptor file, open_regular_file(path));
  const Error too_large{Code::kExhausted, "read " + path + ": it has more than " +
                                              format_bytes(static_cast<double>(most_bytes)) +
                                              ", the most that is read"};
  struct stat status {};
  if (fstat(file.number(), &status) != 0) return system_error("read", path);
  if (status.st_size > most_bytes) return too_large;
  std::string content;  // of /proc files the size is not known before
  std::array<char, 65536> chunk;
  while (true) {
    ssize_t got = read(file.number(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("read", path);
    if (got == 0) return content;
    content.append(chunk.data(), static_cast<size_t>(got));
    if (static_cast<int64_t>(content.size()) > most_bytes) return too_large;
  }
}

FileStamp stamp_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return {.device = found.st_dev,
          .inode = found.st_ino,
          .size_bytes = found.st_size,
          .changed_ns = int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec};
}

std::string text_or_empty(const std::string& path) {
  Result<std::string> text = read_file(path);
  return text ? std::move(*text) : std::string();
}

Status check_writable_folder(const std::string& folder) {
  std::error_code failure;
  std::filesystem::path nearest = std::filesystem::absolute(folder.empty() ? "." : folder, failure).lexically_normal();
  while (std::filesystem::status(nearest, failure).type() == std::filesystem::file_type::not_found)
    nearest = nearest.parent_path();
  if (!std::filesystem::is_directory(nearest, failure))
    return Error{Code::kFailed, nearest.string() + " is not a folder"};
  // Tried, as a permission alone does not say it: /proc grants root all of them.
  std::string trial = (nearest / ".ridge-XXXXXX").string();
  if (mkdtemp(trial.data()) == nullptr)
    return Error{Code::kFailed, nearest.string() + " cannot be written: " + std::strerror(errno)};
  rmdir(trial.c_str());
  return {};
}

Status check_writable_file(const std::string& path) {
  RIDGE_ASSIGN(const std::string target, replaced_file(path));
  Status folder = check_writable_folder(std::filesystem::path(target).parent_path().string());
  return folder ? folder : wrap(folder.error(), "write " + path);
}

Result<std::string> replaced_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (fs::is_directory(status))
    return Error{Code::kInvalid, "write " + path + ": it is a folder, not a file; give a file in it"};
  if (fs::exists(status) && !fs::is_regular_file(status))
    return Error{Code::kInvalid, "write " + path + ": it exists and is not a file; name a file to write to"};
  fs::path target = path;
  constexpr int kMostLinks = 40;  // as the kernel's
  for (int i = 0; i < kMostLinks && fs::is_symlink(target, failure); ++i)
    target = target.parent_path() / fs::read_symlink(target, failure);  // an absolute one stands alone
  return target.string();
}

Status write_file_atomically(const std::string& path, std::string_view content) {
  RIDGE_ASSIGN(ReplacementFile file, ReplacementFile::open(path));
  RIDGE_TRY(file.append(content));
  RIDGE_TRY(file.sync());
  return file.commit();
}

}  // namespace ridge
