"""The gpu engine for CUDA C++: PTX in which every access also reports itself, loaded through the driver."""
