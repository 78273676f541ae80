// Reads files of the running system into a Tree. A file that hangs (a GPU that is lost, a dead network mount) costs
// its time limit and is noted as missing; the others are read all the same.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "machine/tree.h"

namespace ridge::doctor {

// `patterns`: paths without leading slash, with * and ? per component: "sys/class/net/*/mtu". `root` stands before
// them, "" for the running system. What cannot be read is left out, with its reason in `missing` if it was named
// without wildcards. At most 1 MiB of each file.
void capture(machine::Tree& tree, const std::string& root, const std::vector<std::string>& patterns, Nanoseconds limit);

// What one reading child wrote (each path before it is read, then its text) into `tree`; `done` gets the paths that
// are not to be read again. Returns the path that hung: the last one asked for by a child that had to be killed; empty
// if none did.
std::string take_captured(machine::Tree& tree, std::string output, bool timed_out, std::set<std::string>& done);

}  // namespace ridge::doctor
