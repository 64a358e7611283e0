"""The packages that CUDA scripts import, by the name that ``pip install`` takes."""

from __future__ import annotations

import importlib.util

# Installed under another name than they are imported by; of a package's parts the longest that is here counts.
_OTHERWISE = {
    "Bio": "biopython",
    "Crypto": "pycryptodome",
    "IPython": "ipython",
    "OpenGL": "pyopengl",
    "PIL": "pillow",
    "SimpleITK": "simpleitk",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "chalk": "chalk-diagrams",
    "cudf": "cudf-cu12",
    "cugraph": "cugraph-cu12",
    "cuda": "cuda-python",
    "cuda.cccl": "cuda-cccl",
    "cuda.compute": "cuda-cccl",
    "cuda.coop": "cuda-cccl",
    "cuda.core": "cuda-core",
    "cuda.tile": "cuda-tile",
    "cuml": "cuml-cu12",
    "cupy": "cupy-cuda12x",
    "cupyx": "cupy-cuda12x",
    "cutlass": "nvidia-cutlass-dsl",
    "cv2": "opencv-python",
    "dask_cuda": "dask-cuda",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "faiss": "faiss-cpu",
    "flash_attn": "flash-attn",
    "git": "gitpython",
    "kernel_tuner": "kernel-tuner",
    "mpl_toolkits": "matplotlib",
    "netCDF4": "netcdf4",
    "numba_cuda": "numba-cuda",
    "nvmath": "nvmath-python",
    "nvshmem": "nvshmem4py-cu12",
    "osgeo": "gdal",
    "progressbar": "progressbar2",
    "pylab": "matplotlib",
    "pynvml": "nvidia-ml-py",
    "pytorch_lightning": "pytorch-lightning",
    "pywt": "pywavelets",
    "rmm": "rmm-cu12",
    "serial": "pyserial",
    "skcuda": "scikit-cuda",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "umap": "umap-learn",
    "warp": "warp-lang",
    "wx": "wxpython",
    "yaml": "pyyaml",
    "zmq": "pyzmq",
}
_ALIKE = (
    " astropy bokeh cffi click cppimport dask dearpygui einops gputil graphviz h5py imageio jax jinja2 joblib "
    "keras librosa mako matplotlib ml_dtypes moviepy mpi4py networkx nibabel nvtx pandas plotly progress psutil "
    "pyarrow pycuda pydicom pygame pyopencl pyqtgraph pyspark pytest pytools pyvista reikna requests rich scipy "
    "seaborn skvideo sympy tables taichi tensorflow tensorrt tilelang torch torchaudio torchvision tqdm "
    "transformers trimesh triton vispy vtk xarray "
)
# What modules of Python 2 are called in Python 3.
PYTHON_2 = {
    "ConfigParser": "configparser",
    "Image": "PIL.Image",
    "Queue": "queue",
    "StringIO": "io",
    "Tkinter": "tkinter",
    "cPickle": "pickle",
    "cStringIO": "io",
    "commands": "subprocess",
    "urllib2": "urllib.request",
}


def package_of(module: str) -> str | None:
    """Return the package that has a module, None where it is not known; a name that PyPI has may be another thing."""
    parts = module.split(".")
    for count in range(len(parts), 0, -1):
        name = ".".join(parts[:count])
        if name in _OTHERWISE or f" {name} " in _ALIKE:
            return _OTHERWISE.get(name, name)
    return None


def is_installed(module: str) -> bool:
    """Tell whether a module can be imported here."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
