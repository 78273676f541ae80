# Language, warnings, sanitizers and ccache, for every target of this project.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_COLOR_DIAGNOSTICS ON)

# The reference compiler (Debian 12's) must be silent; another one may know new warnings, and a user's build should not
# fail on them.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  set(reference_compiler ON)
else()
  set(reference_compiler OFF)
endif()
set(RIDGE_SANITIZE "" CACHE STRING "Value for -fsanitize=, empty for none")
option(RIDGE_WERROR "Warnings are errors" ${reference_compiler})

add_compile_options(-Wall -Wextra -Wpedantic -Wfloat-conversion -Wnon-virtual-dtor -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports overlapping copies inside std::string's own operator+ (its bug 105651).
  # A parameter may be named as a member function is; a local may not be named as another local.
  add_compile_options(-Wshadow=local -Wno-restrict)
  # GCC collects garbage from 128 MiB on; half a GiB more per compiler saves a seventh of the time.
  add_compile_options(--param=ggc-min-heapsize=524288)
endif()

if(RIDGE_SANITIZE)
  add_compile_options(-fsanitize=${RIDGE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${RIDGE_SANITIZE})
  # Instrumented code makes GCC see uninitialised values that are not there; the plain build reports the true ones.
elseif(RIDGE_WERROR)
  add_compile_options(-Werror)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
endif()
