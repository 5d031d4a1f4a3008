# find_package(chromaflow) gives
#   chromaflow::chromaflow   the shared library with chromaflow.h (C) and chromaflow.hpp (C++17)
#   chromaflow::fortran      the module chromaflow, compiled by the project's own Fortran compiler
get_filename_component(_chromaflow_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_library(chromaflow_LIBRARY NAMES chromaflow PATHS "${_chromaflow_prefix}" PATH_SUFFIXES lib lib64
             "lib/${CMAKE_LIBRARY_ARCHITECTURE}" NO_DEFAULT_PATH REQUIRED)
if(NOT TARGET chromaflow::chromaflow)
  add_library(chromaflow::chromaflow SHARED IMPORTED)
  set_target_properties(chromaflow::chromaflow PROPERTIES IMPORTED_LOCATION "${chromaflow_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${_chromaflow_prefix}/include")
endif()
get_property(_chromaflow_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if("Fortran" IN_LIST _chromaflow_languages AND NOT TARGET chromaflow::fortran)
  add_library(chromaflow_fortran STATIC "${_chromaflow_prefix}/include/chromaflow.f90")
  set_target_properties(chromaflow_fortran PROPERTIES Fortran_MODULE_DIRECTORY "${CMAKE_BINARY_DIR}/chromaflow_modules")
  target_include_directories(chromaflow_fortran INTERFACE "${CMAKE_BINARY_DIR}/chromaflow_modules")
  target_link_libraries(chromaflow_fortran PUBLIC chromaflow::chromaflow)
  add_library(chromaflow::fortran ALIAS chromaflow_fortran)
endif()
