#include "gpu/needed_libraries.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <fstream>

#include "base/dynlib.h"

namespace ridge::gpu {
namespace {

// More than in any real file; a damaged one may claim anything.
constexpr uint64_t kMostHeaders = 4096, kMostDynamicBytes = 1 << 20, kMostNameBytes = 4096;

class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : path_(path), file_(path, std::ios::binary) {}

  // ok for the supported file format.
  Status open();
  Result<std::vector<std::string>> needed();

 private:
  Error damaged(const std::string& what) const { return invalid(path_ + " is damaged: " + what); }
  bool read(uint64_t offset, void* to, uint64_t size);
  // File offset of what is loaded at `address`; 0 if none.
  uint64_t offset_of(uint64_t address) const;
  Result<std::string> text_at(uint64_t offset);

  std::string path_;
  std::ifstream file_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
};

bool ElfFile::read(uint64_t offset, void* to, uint64_t size) {
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(offset));
  file_.read(static_cast<char*>(to), static_cast<std::streamsize>(size));
  return file_.good();
}

Status ElfFile::open() {
  if (!file_) return Error{Code::kNotFound, "cannot read " + path_};
  const bool elf = read(0, &header_, sizeof header_) && std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0;
  if (!elf || header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB)
    return invalid(path_ + " is not a shared library for a 64-bit little-endian machine");
  if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum > kMostHeaders)
    return damaged("program headers of unknown form");
  segments_.resize(header_.e_phnum);
  if (!read(header_.e_phoff, segments_.data(), segments_.size() * sizeof(Elf64_Phdr)))
    return damaged("it ends before its program headers");
  return {};
}

uint64_t ElfFile::offset_of(uint64_t address) const {
  for (const Elf64_Phdr& segment : segments_)
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
      return segment.p_offset + (address - segment.p_vaddr);
  return 0;
}

Result<std::string> ElfFile::text_at(uint64_t offset) {
  std::string text;
  for (char letter = 0; read(offset + text.size(), &letter, 1) && letter != '\0';) {
    text += letter;
    if (text.size() > kMostNameBytes) return damaged("an unterminated name");
  }
  if (text.empty()) return damaged("an empty library name");
  return text;
}

Result<std::vector<std::string>> ElfFile::needed() {
  std::vector<Elf64_Dyn> entries;
  for (const Elf64_Phdr& segment : segments_) {
    if (segment.p_type != PT_DYNAMIC) continue;
    if (segment.p_filesz > kMostDynamicBytes) return damaged("a dynamic section of impossible size");
    entries.resize(segment.p_filesz / sizeof(Elf64_Dyn));
    if (!read(segment.p_offset, entries.data(), entries.size() * sizeof(Elf64_Dyn)))
      return damaged("it ends before its dynamic section");
  }
  uint64_t names = 0;
  for (const Elf64_Dyn& entry : entries)
    if (entry.d_tag == DT_STRTAB) names = offset_of(entry.d_un.d_ptr);
  std::vector<std::string> libraries;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag != DT_NEEDED) continue;
    if (names == 0) return damaged("no table of names");
    RIDGE_ASSIGN(std::string name, text_at(names + entry.d_un.d_val));
    libraries.push_back(std::move(name));
  }
  return libraries;
}

}  // namespace

Result<std::vector<std::string>> needed_libraries(const std::string& path) {
  ElfFile file(path);
  RIDGE_TRY(file.open());
  return file.needed();
}

std::vector<std::string> missing_libraries(const std::vector<std::string>& names) {
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (!DynamicLibrary::open(name)) missing.push_back(name);
  return missing;
}

}  // namespace ridge::gpu
