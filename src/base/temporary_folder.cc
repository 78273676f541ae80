#include "base/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace ridge {

namespace fs = std::filesystem;

Result<TemporaryFolder> TemporaryFolder::make() {
  std::error_code error;
  std::string path = (fs::temp_directory_path(error) / "ridge-XXXXXX").string();
  if (error || mkdtemp(path.data()) == nullptr)
    return Error{Code::kFailed, "make a temporary folder " + path + ": " +
                                    (error ? error.message() : std::strerror(errno)) +
                                    "; set TMPDIR to a writable folder"};
  return TemporaryFolder(path);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace ridge
