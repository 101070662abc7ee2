// Block elimination, compiled once for all systems that use it.
#include "gyrod/linear/block_lu.hpp"

template class gyrod::BlockLu<double>;
template class gyrod::BlockLu<std::complex<double>>;
