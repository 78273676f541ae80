#include "power/record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"

namespace ridge::power {
namespace {

namespace fs = std::filesystem;

// A UUID or PCI address as a file name.
std::string file_name(const std::string& id) {
  std::string name = id;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.') c = '_';
  return name + ".json";
}

Result<Record> record_from(const std::string& text, const std::string& path) {
  RIDGE_ASSIGN(Json json, parse_json(text, path));
  Result<Record> record = from_json<Record>(json);
  if (!record) return wrap(record.error(), path + " is no record of a power setting, remove it");
  return record;
}

bool is_locked(const std::string& path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  bool locked = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(file);
  return locked;
}

}  // namespace

std::string record_folder() {
  const char* given = std::getenv("RIDGE_POWER_STATE");
  return given != nullptr && *given != '\0' ? given : "/run/ridge/power";
}

std::vector<Record> read_records(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Record> records;
  for (const fs::path& file : files) {
    Result<std::string> text = read_file(file.string());
    if (!text || text->empty()) continue;
    Result<Record> record = record_from(*text, file.string());
    if (!record) continue;
    record->held = is_locked(file.string());
    records.push_back(std::move(*record));
  }
  return records;
}

Result<Claim> Claim::take(const std::string& folder, const std::string& id, bool patient) {
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  const std::string path = folder + "/" + file_name(id);
  int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return Error{Code::kFailed, fmt::format("write {}: {}", path, std::strerror(errno))};
  Claim claim(file);
  bool locked = flock(file, patient ? LOCK_EX : LOCK_EX | LOCK_NB) == 0;
  Result<std::string> text = read_file(path);
  Result<Record> record = text && !text->empty() ? record_from(*text, path) : Result<Record>(Error{});
  if (!locked)
    return Error{Code::kUnavailable,
                 fmt::format("process {} holds {} at {}: end it first (it restores what was before)",
                             record ? record->process : 0, record ? record->before.name : id,
                             record ? settings_text(record->set) : "a setting")};
  if (record) claim.left_ = std::move(*record);
  return claim;
}

Claim::Claim(Claim&& other) noexcept : file_(std::exchange(other.file_, -1)), left_(std::move(other.left_)) {}

Claim& Claim::operator=(Claim&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(left_, other.left_);
  return *this;
}

Claim::~Claim() {
  if (file_ >= 0) close(file_);  // unlocks it
}

// In place: a replacement file would have no lock.
Status Claim::write(const Record& record) {
  const std::string text = dump_json(json_of(record)) + "\n";
  if (ftruncate(file_, 0) == 0 && pwrite(file_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()))
    return {};
  return Error{Code::kFailed, fmt::format("write the record of the setting: {}", std::strerror(errno))};
}

void Claim::clear() {
  if (ftruncate(file_, 0) == 0) left_.reset();
}

}  // namespace ridge::power
