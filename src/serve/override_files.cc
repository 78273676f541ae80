#include "serve/override_files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "serve/repository.h"

namespace ridge::serve {

namespace fs = std::filesystem;

OverrideFiles::~OverrideFiles() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Result<std::shared_ptr<const OverrideFiles>> write_override_files(
    const std::vector<std::pair<std::string, std::string>>& files) {
  for (const auto& [name, content] : files) RIDGE_TRY(check_relative_path(name));
  std::error_code error;
  std::string path = (fs::temp_directory_path(error) / "ridge-load-XXXXXX").string();
  if (error || ::mkdtemp(path.data()) == nullptr)
    return Error{Code::kFailed, "cannot create the temporary folder " + path + " for the files sent with the load: " +
                                    (error ? error.message() : std::strerror(errno))};
  auto folder = std::make_shared<const OverrideFiles>(path);
  for (const auto& [name, content] : files) RIDGE_TRY(write_file_atomically((fs::path(path) / name).string(), content));
  return folder;
}

}  // namespace ridge::serve
