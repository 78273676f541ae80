#include "serve/override_files.h"

#include "base/file.h"
#include "serve/repository.h"

namespace ridge::serve {

Result<std::shared_ptr<const TemporaryFolder>> write_override_files(
    const std::vector<std::pair<std::string, std::string>>& files) {
  for (const auto& [name, content] : files) RIDGE_TRY(check_relative_path(name));
  Result<TemporaryFolder> folder = TemporaryFolder::make();
  if (!folder) return wrap(std::move(folder).error(), "keep the files sent with the load");
  for (const auto& [name, content] : files) RIDGE_TRY(write_file_atomically(folder->path() + "/" + name, content));
  return std::make_shared<const TemporaryFolder>(std::move(*folder));
}

}  // namespace ridge::serve
