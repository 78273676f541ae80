#include "machine/pci_names.h"

#include <algorithm>

#include "base/file.h"
#include "base/proc_text.h"

namespace ridge::machine {
namespace {

constexpr const char* kLists[] = {"/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids"};

}  // namespace

// "1002  Advanced Micro Devices, Inc. [AMD/ATI]", then its devices, "\t74a1  Aqua Vanjaram [Instinct MI300X]".
std::string pci_names(std::string_view list, const std::vector<std::string>& ids) {
  std::string names, vendor;
  while (!list.empty()) {
    const std::string_view line = list.substr(0, list.find('\n'));
    list.remove_prefix(std::min(line.size() + 1, list.size()));
    if (line.empty() || line[0] == '#' || line.starts_with("\t\t")) continue;
    const bool device = line[0] == '\t';
    const std::string_view number = line.substr(device ? 1 : 0, 4);
    if (!device) vendor = number;
    const std::string id = vendor + ":" + std::string(number);
    if (device && std::find(ids.begin(), ids.end(), id) != ids.end())
      names += id + " " + std::string(trim(line.substr(5))) + "\n";
  }
  return names;
}

Result<std::string> find_pci_names(const std::string& root, const std::vector<std::string>& ids) {
  for (const char* path : kLists)
    if (Result<std::string> list = read_file(root + path)) return pci_names(*list, ids);
  return Error{Code::kNotFound, "there is no list of PCI devices (pci.ids) here"};
}

}  // namespace ridge::machine
