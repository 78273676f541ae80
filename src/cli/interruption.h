// Ctrl-C of the verbs that measure: the first one asks for an early end with what there is, a later one ends the program.
// The flag belongs to the process, as signals do.
#pragma once

namespace ridge::cli {

// From now on SIGINT and SIGTERM set interrupted() instead of ending the process. A signal within 0.3 s of the first
// counts as the same one: a terminal, a shell and `timeout` may each pass it on.
void listen_for_interruption();
bool interrupted();

}  // namespace ridge::cli
