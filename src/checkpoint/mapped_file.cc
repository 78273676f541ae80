#include "checkpoint/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/file.h"

namespace ridge::checkpoint {

Result<MappedFile> MappedFile::open(const std::string& path) {
  RIDGE_ASSIGN(const Descriptor file, open_regular_file(path));
  struct stat status {};
  if (fstat(file.number(), &status) != 0) return Error{Code::kFailed, path + ": " + std::strerror(errno)};
  const auto size = static_cast<size_t>(status.st_size);
  if (size == 0) return MappedFile({});
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (memory == MAP_FAILED)
    return Error{errno == ENOMEM ? Code::kExhausted : Code::kFailed,
                 "could not map " + path + ": " + std::strerror(errno)};
  return MappedFile({static_cast<const std::byte*>(memory), size});
}

void MappedFile::release_pages() const {
  if (!bytes_.empty()) madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace ridge::checkpoint
